// Limits the size of the index of a shard.
//
// An index of up to a few times the stored bytes is always allowed, since no realistic data needs more. A
// compressed shard can expand to a thousand times as many names and records; the part of its index beyond the
// allowance is charged to the memory budget of opening, of which a small share is reserved for indexes. Used by
// one thread.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/result.h"

namespace penstock {

class IndexGrowth {
 public:
  IndexGrowth() = default;  // has no limit
  IndexGrowth(std::string path, std::uint64_t stored_bytes)
      : path_(std::move(path)),
        stored_bytes_(stored_bytes),
        free_bytes_(stored_bytes * kFreeBytesPerStoredByte) {}

  // Accounts for `bytes` more of the index, which describe the data at `offset` of the uncompressed shard. Fails
  // with kNoMemory.
  Status add(std::uint64_t bytes, std::uint64_t offset, std::uint64_t length) {
    taken_ += bytes;
    return taken_ <= free_bytes_ ? Status() : add_surplus(bytes, offset, length);
  }

 private:
  static constexpr std::uint64_t kFreeBytesPerStoredByte = 4;

  Status add_surplus(std::uint64_t bytes, std::uint64_t offset, std::uint64_t length) const;

  std::string path_;
  std::uint64_t stored_bytes_ = 0, free_bytes_ = UINT64_MAX, taken_ = 0;
};

}  // namespace penstock
