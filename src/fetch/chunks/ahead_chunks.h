// The link that gives chunks that were read ahead, where the store answers many reads at a time. What was not read
// ahead is read now by the same engine, so that cancelling the epoch breaks it off.
#pragma once

#include <memory>

#include "fetch/chunks/chunk_provider.h"
#include "transform/op.h"

namespace penstock {

class AheadChunks final : public ChunkProvider {
 public:
  AheadChunks(Scratch& scratch, ChunkProvider& next) : scratch_(scratch), next_(next) {}

  Result<ChunkBytes> read(const ChunkRead& wanted) override;
  // Reading ahead reads whole chunks.
  bool reads_parts() const override { return ahead_ == nullptr && next_.reads_parts(); }
  void turn_to(const SharedReads& shared) override;
  void end_chunk() override;

 private:
  Scratch& scratch_;
  ChunkProvider& next_;
  ReadAhead* ahead_ = nullptr;
  std::shared_ptr<const void> memory_;  // owns the bytes that were read ahead
};

}  // namespace penstock
