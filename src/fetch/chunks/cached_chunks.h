// The first link of the chain for chunks: those that are cached as they are stored.
#pragma once

#include <memory>

#include "base/stats.h"
#include "fetch/chunks/chunk_provider.h"
#include "fetch/entries/sample_cache.h"

namespace penstock {

class CachedChunks final : public ChunkProvider {
 public:
  CachedChunks(const SampleCache& cache, Scratch& scratch, StageClock& clock, ChunkProvider& next);

  Result<ChunkBytes> read(const ChunkRead& wanted) override;
  // A cache of stored bytes admits only whole chunks, so read() passes a request for a part on to the next link.
  bool reads_parts() const override { return next_.reads_parts(); }
  void turn_to(const SharedReads& shared) override;
  void end_chunk() override;

 private:
  const SampleCache& cache_;
  const CacheTier::Allocate allocate_;
  StageClock& clock_;
  ChunkProvider& next_;
  ReadAhead* ahead_ = nullptr;
  std::shared_ptr<const void> entry_;  // keeps the bytes that were given in memory
};

}  // namespace penstock
