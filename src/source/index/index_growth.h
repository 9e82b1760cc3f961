// How large the index of a shard may become.
//
// Up to a few times the bytes that are stored, an index is the source's own: no data that anybody keeps needs
// more. A compressed shard can hold a thousand times as many names and records as that; what its index takes
// beyond is drawn from the memory that opening may use, of which a small part is for this. Belongs to one thread.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/result.h"

namespace penstock {

class IndexGrowth {
 public:
  IndexGrowth() = default;  // without a limit
  IndexGrowth(std::string path, std::uint64_t stored_bytes)
      : path_(std::move(path)),
        stored_bytes_(stored_bytes),
        own_bytes_(stored_bytes * kOwnPerStoredByte) {}

  // The index takes so many bytes more, for what stands at `offset` of the (uncompressed) shard.
  Status add(std::uint64_t bytes, std::uint64_t offset, std::uint64_t length) {
    taken_ += bytes;
    return taken_ <= own_bytes_ ? Status() : add_surplus(bytes, offset, length);
  }

 private:
  static constexpr std::uint64_t kOwnPerStoredByte = 4;

  Status add_surplus(std::uint64_t bytes, std::uint64_t offset, std::uint64_t length) const;

  std::string path_;
  std::uint64_t stored_bytes_ = 0, own_bytes_ = UINT64_MAX, taken_ = 0;
};

}  // namespace penstock
