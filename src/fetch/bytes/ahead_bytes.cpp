#include "fetch/bytes/ahead_bytes.h"

#include <algorithm>

#include "plan/sample_reads.h"

namespace penstock {

AheadBytes::AheadBytes(const SamplePlan& plan, Scratch& scratch, StageClock& clock, ReadOrigin& origin,
                       ByteProvider& next)
    : plan_(plan),
      stored_fields_(stored_fields(plan)),
      scratch_(scratch),
      clock_(clock),
      origin_(origin),
      next_(next) {}

void AheadBytes::turn_to(const SharedReads& shared) {
  ahead_ = shared.ahead();
  next_.turn_to(shared);
}

void AheadBytes::end_sample() {
  stretch_.bytes = {};
  memory_.reset();
  next_.end_sample();
}

// A mixture may have some samples in files and others on servers, so this is decided per extent.
bool AheadBytes::reads_ahead(const Extent& extent) const {
  return ahead_ != nullptr && extent.store->reads_ahead() > 0;
}

Result<RecordValue> AheadBytes::read(const FieldRead& wanted, const Extent& extent) {
  if (!reads_ahead(extent)) return next_.read(wanted, extent);
  if (!stretch_.holds(extent)) {
    PENSTOCK_CHECK(bring(wanted, extent));
    ++origin_.reads;
    clock_.mark(Stage::kRead, stretch_.bytes.size());
  }
  if (!extent.shared_object) {
    origin_.where.length = static_cast<std::int64_t>(stretch_.bytes.size());
    if (stretch_.bytes.empty()) return fail(ErrorCode::kTruncated, "empty file");
  }
  return RecordValue{stretch_.bytes_of(extent), std::nullopt};
}

Status AheadBytes::bring(const FieldRead& wanted, const Extent& extent) {
  stretch_ = {};
  memory_.reset();
  if (auto taken = ahead_->take(wanted.position, extent)) {
    if (!*taken) return std::unexpected(std::move(*taken).error());
    stretch_ = {extent.object, (*taken)->offset, (*taken)->bytes};
    memory_ = std::move((*taken)->memory);
    origin_.version = (*taken)->version;
    return {};
  }
  const ObjectRead read = read_of(*plan_.source, stored_fields_, wanted.sample, extent);
  const auto got = ahead_->read(*extent.store, read, [&](std::size_t bytes) -> Result<MutableBytes> {
    const auto memory = scratch_.get(kScratchEncoded, std::max<std::size_t>(bytes, 1));
    if (!memory) return memory;
    return memory->first(bytes);
  });
  if (!got) return std::unexpected(got.error());
  stretch_ = {extent.object, read.range.offset, got->bytes};
  origin_.version = got->version;
  return {};
}

Result<bool> AheadBytes::read_into(const FieldRead& wanted, const Extent& extent,
                                   std::span<const MutableBytes> parts) {
  if (reads_ahead(extent)) return false;
  return next_.read_into(wanted, extent, parts);
}

}  // namespace penstock
