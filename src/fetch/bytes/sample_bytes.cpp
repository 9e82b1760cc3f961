#include "fetch/bytes/sample_bytes.h"

#include "plan/sample_reads.h"
#include "source/extent.h"

namespace penstock {

SampleBytes::SampleBytes(const SamplePlan& plan, Scratch& scratch, StageClock& clock, ReadOrigin& origin,
                         const SampleCache* cache)
    : source_(*plan.source),
      origin_(origin),
      store_(plan, scratch, clock, origin),
      ahead_(plan, scratch, clock, origin, store_),
      blocks_(clock, origin, ahead_),
      checked_(origin, blocks_),
      records_(*plan.source, scratch, origin, checked_),
      first_(&records_) {
  if (cache == nullptr) return;
  cached_ = std::make_unique<CachedValues>(*cache, scratch, clock, origin, records_);
  first_ = cached_.get();
}

Result<Extent> SampleBytes::extent(const FieldRead& wanted) const {
  return source_.extent(wanted.sample, static_cast<std::size_t>(wanted.field.source_field));
}

Result<RecordValue> SampleBytes::read(const FieldRead& wanted) {
  const auto found = extent(wanted);
  if (!found) return std::unexpected(found.error());
  return read(wanted, *found);
}

Result<RecordValue> SampleBytes::read(const FieldRead& wanted, const Extent& extent) {
  origin_.where = where_of(extent);
  PENSTOCK_CHECK(check_encoded_bytes(extent.length));
  return first_->read(wanted, extent);
}

Result<bool> SampleBytes::read_into(const FieldRead& wanted, const Extent& extent,
                                    std::span<const MutableBytes> parts) {
  origin_.where = where_of(extent);
  return first_->read_into(wanted, extent, parts);
}

}  // namespace penstock
