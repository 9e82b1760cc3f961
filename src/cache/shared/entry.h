// What an entry of the cache is called, and what it says about itself before its bytes.
#pragma once

#include <array>
#include <cstdint>

#include "penstock/array.h"

namespace penstock {

// Two hashes of what the entry is of and of the steps that made it: with a hundred million entries, the
// chance that any two have the same key is below one in 10^22.
struct EntryKey {
  std::uint64_t high = 0, low = 0;
  bool operator==(const EntryKey&) const = default;
};

// Stands before the bytes of an entry. Written and read as it is: entries stay on one machine.
struct EntryHead {
  EntryKey key;
  std::uint64_t bytes = 0;  // that follow
  // The version of the object that they were made from (store/store.h).
  std::uint64_t object_bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t cost_ns = 0;  // what making it took: what each hit saves
  DType dtype = DType::kUInt8;
  std::uint8_t has_spec = 0;  // dtype and shape say what the bytes are
  std::uint8_t rank = 0;
  std::uint8_t stays_in_memory = 0;  // it cannot be compared with its object, so no other run may find it
  std::uint32_t stamp = 0;           // of the version
  std::array<std::int64_t, 8> shape{};
  // Of the whole picture, where the entry is made from one.
  std::int32_t picture_width = 0, picture_height = 0;
};
static_assert(sizeof(EntryHead) == 128);

}  // namespace penstock
