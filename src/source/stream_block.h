// Compressed objects, and the blocks that they are decompressed in.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace penstock {

class Store;

// A compressed object, as it was when it was indexed.
struct Stream {
  std::string object;
  std::int64_t modified_ns = 0;
  std::uint64_t object_bytes = 0;
  std::span<const std::uint32_t> checksums;  // one per MiB of its uncompressed bytes
  const Store* store = nullptr;              // has the object; one of SourceStorage::stores
};

// A part of a compressed object that is decompressed as a whole.
struct StreamBlock {
  std::uint32_t stream = 0;                    // position in SourceStorage::streams
  std::uint64_t begin_byte = 0, end_byte = 0;  // offsets in the uncompressed object
};

}  // namespace penstock
