// The complete chain of byte providers of one worker.
//
//   SampleBytes bytes(plan, scratch, clock, origin, cache);
//   bytes.turn_to(epoch_reads);
//   const auto value = bytes.read({field, number, position, sample});
//   ...
//   bytes.end_sample();
//
// Belongs to one thread. Plan, scratch, clock, origin and cache are borrowed and outlive it.
#pragma once

#include <memory>
#include <span>

#include "fetch/bytes/ahead_bytes.h"
#include "fetch/bytes/block_bytes.h"
#include "fetch/bytes/byte_provider.h"
#include "fetch/bytes/cached_values.h"
#include "fetch/bytes/checked_bytes.h"
#include "fetch/bytes/record_values.h"
#include "fetch/bytes/store_bytes.h"

namespace penstock {

class SampleBytes {
 public:
  // `cache` may be nullptr.
  SampleBytes(const SamplePlan& plan, Scratch& scratch, StageClock& clock, ReadOrigin& origin,
              const SampleCache* cache);
  SampleBytes(const SampleBytes&) = delete;

  // The returned bytes are borrowed until the next read() or end_sample(). An error says where the bytes should be.
  Result<RecordValue> read(const FieldRead& wanted);
  // As above, for an extent that the caller knows already.
  Result<RecordValue> read(const FieldRead& wanted, const Extent& extent);
  // Fills the parts from the field's extent; see ByteProvider.
  Result<bool> read_into(const FieldRead& wanted, const Extent& extent, std::span<const MutableBytes> parts);

  Result<Extent> extent(const FieldRead& wanted) const;
  void turn_to(const SharedReads& shared) { first_->turn_to(shared); }
  void end_sample() { first_->end_sample(); }

 private:
  const Source& source_;
  ReadOrigin& origin_;
  StoreBytes store_;
  AheadBytes ahead_;
  BlockBytes blocks_;
  CheckedBytes checked_;
  RecordValues records_;
  std::unique_ptr<CachedValues> cached_;
  ByteProvider* first_;
};

}  // namespace penstock
