// The first link of the chain: values that are cached as they are stored.
//
// It passes on fields whose decoded pixels are cached, because the makers of those fields ask the cache themselves.
#pragma once

#include <memory>

#include "base/stats.h"
#include "fetch/bytes/byte_provider.h"
#include "fetch/entries/sample_cache.h"

namespace penstock {

class CachedValues final : public ByteProvider {
 public:
  CachedValues(const SampleCache& cache, Scratch& scratch, StageClock& clock, ReadOrigin& origin,
               ByteProvider& next);

  Result<RecordValue> read(const FieldRead& wanted, const Extent& extent) override;
  Result<bool> read_into(const FieldRead& wanted, const Extent& extent,
                         std::span<const MutableBytes> parts) override;
  void turn_to(const SharedReads& shared) override;
  void end_sample() override;

 private:
  const SampleCache& cache_;
  const CacheTier::Allocate allocate_;
  StageClock& clock_;
  ReadOrigin& origin_;
  ByteProvider& next_;
  ReadAhead* ahead_ = nullptr;
  std::shared_ptr<const void> entry_;  // keeps the bytes that were given in memory
};

}  // namespace penstock
