// One sample in the form in which it is written: the bytes, and what the index says about them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pack/pack_buffer.h"
#include "penstock/array.h"

namespace penstock {

struct PreparedMember {
  std::uint32_t file = 0;    // of the shard; several only for .npy
  std::uint32_t field = 0;   // PortableIndex::kAllFields: a record
  std::string name;          // the ending in a tar
  std::uint64_t offset = 0;  // of the member's bytes in PreparedSample::bytes
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;
};

struct PreparedSample {
  PackBuffer bytes;
  std::vector<PreparedMember> members;
};

// A value of a sample on its way to the framer of the format. Borrowed for one call.
struct PackedValue {
  std::uint32_t field = 0;
  // The type and shape of an array or number; nullptr: the bytes are a file (an image, .npy, text).
  const ArraySpec* elements = nullptr;
  std::string_view ending;  // of an image: "jpg"
  std::uint64_t size_bytes = 0;  // 0: not known before it is written
  // Appends the file or the elements.
  std::function<Status(PackBuffer&)> append;
};

}  // namespace penstock
