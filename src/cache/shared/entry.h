// The key of a cache entry, and the head that precedes its bytes.
#pragma once

#include <array>
#include <cstdint>

#include "penstock/array.h"

namespace penstock {

// Two hashes of the identity of the cached value and of the transforms that made it. With a hundred million
// entries, the probability that any two have the same key is below 10^-22.
struct EntryKey {
  std::uint64_t high = 0, low = 0;
  bool operator==(const EntryKey&) const = default;
};

// Precedes the bytes of an entry. It is stored as it is in memory, because entries stay on one machine.
struct EntryHead {
  EntryKey key;
  std::uint64_t bytes = 0;  // number of bytes after the head
  // The version of the object that they were made from (store/store.h).
  std::uint64_t object_bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t cost_ns = 0;  // time that making the entry took; each hit saves it
  DType dtype = DType::kUInt8;
  std::uint8_t has_spec = 0;  // dtype and shape describe the bytes
  std::uint8_t rank = 0;
  std::uint8_t stays_in_memory = 0;  // it cannot be compared with its object, so later runs must not find it
  std::uint32_t stamp = 0;           // third part of the version
  std::array<std::int64_t, 8> shape{};
  // Size of the whole picture, if the entry was made from one.
  std::int32_t picture_width = 0, picture_height = 0;
};
static_assert(sizeof(EntryHead) == 128);

}  // namespace penstock
