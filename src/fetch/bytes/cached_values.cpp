#include "fetch/bytes/cached_values.h"

#include <algorithm>

namespace penstock {

CachedValues::CachedValues(const SampleCache& cache, Scratch& scratch, StageClock& clock, ReadOrigin& origin,
                           ByteProvider& next)
    : cache_(cache),
      allocate_(cached_value_allocator(scratch)),
      clock_(clock),
      origin_(origin),
      next_(next) {}

void CachedValues::turn_to(const SharedReads& shared) {
  ahead_ = shared.ahead();
  next_.turn_to(shared);
}

void CachedValues::end_sample() {
  entry_.reset();
  next_.end_sample();
}

Result<RecordValue> CachedValues::read(const FieldRead& wanted, const Extent& extent) {
  if (cache_.keeps_pixels(wanted.number)) return next_.read(wanted, extent);
  const SampleCache::Subject subject = cache_.subject(wanted.number, extent);
  if (auto cached = cache_.find(subject, allocate_, clock_.cache(), ahead_)) {
    entry_ = std::move(cached->held);
    clock_.mark(Stage::kRead, cached->bytes.size());
    return RecordValue{cached->bytes, cached->spec()};
  }
  const Clock::time_point began = Clock::now();
  auto value = next_.read(wanted, extent);
  if (!value || (value->elements && value->elements->shape.size() > EntryHead{}.shape.size())) return value;
  const auto fill = [&](MutableBytes bytes, EntryHead& head) -> Status {
    std::ranges::copy(value->bytes, bytes.begin());
    if (value->elements) describe_array(head, *value->elements);
    head.cost_ns = cost_since(began);
    return {};
  };
  // The value was read, whether or not the cache admits it.
  (void)cache_.add(subject, origin_.version, value->bytes.size(), fill, allocate_);
  return value;
}

Result<bool> CachedValues::read_into(const FieldRead&, const Extent&, std::span<const MutableBytes>) {
  return false;
}

}  // namespace penstock
