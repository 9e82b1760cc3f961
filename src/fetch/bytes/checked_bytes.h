// The link of the chain that compares bytes with the checksum that the index of their shard holds.
//
// It comes right after the links that read, so that caches hold only bytes that were compared, and decoders see no other.
// Most formats of members (JPEG, text, .npy) have no checksum of their own.
#pragma once

#include "fetch/bytes/byte_provider.h"

namespace penstock {

class CheckedBytes final : public ByteProvider {
 public:
  CheckedBytes(ReadOrigin& origin, ByteProvider& next) : origin_(origin), next_(next) {}

  Result<RecordValue> read(const FieldRead& wanted, const Extent& extent) override;
  Result<bool> read_into(const FieldRead& wanted, const Extent& extent, std::span<const MutableBytes> parts) override;
  void turn_to(const SharedReads& shared) override { next_.turn_to(shared); }
  void end_sample() override {
    checked_ = {};
    next_.end_sample();
  }

 private:
  ReadOrigin& origin_;
  ByteProvider& next_;
  // The bytes that were compared last. All fields of a record ask for the same bytes.
  ConstBytes checked_;
  std::uint64_t checked_read_ = 0;  // ReadOrigin::reads at that time
};

}  // namespace penstock
