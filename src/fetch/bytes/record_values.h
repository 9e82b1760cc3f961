// The link that extracts a value from stored bytes: a field of a record, or bare elements of a known type.
//
// A record is opened, and its checksums are verified, once for all fields of the sample.
#pragma once

#include "base/memory/scratch.h"
#include "fetch/bytes/byte_provider.h"

namespace penstock {

class RecordValues final : public ByteProvider {
 public:
  RecordValues(const Source& source, Scratch& scratch, ReadOrigin& origin, ByteProvider& next)
      : source_(source),
        scratch_(scratch),
        origin_(origin),
        next_(next) {}

  Result<RecordValue> read(const FieldRead& wanted, const Extent& extent) override;
  Result<bool> read_into(const FieldRead& wanted, const Extent& extent,
                         std::span<const MutableBytes> parts) override;
  void turn_to(const SharedReads& shared) override { next_.turn_to(shared); }
  void end_sample() override;

 private:
  Result<RecordValue> find_in_record(const FieldRead& wanted, ConstBytes stored);
  bool is_open(ConstBytes stored) const;

  const Source& source_;
  Scratch& scratch_;
  ReadOrigin& origin_;
  ByteProvider& next_;
  OpenedRecord record_;            // record of this sample; empty if none is open
  std::uint64_t record_read_ = 0;  // ReadOrigin::reads when the record was read
};

}  // namespace penstock
