// The location of the stored bytes of one field of one sample.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "penstock/result.h"

namespace penstock {

class Store;

struct Extent {
  std::string object;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  static constexpr std::int64_t kUnknown = INT64_MIN;
  std::int64_t modified_ns = kUnknown;  // of the object when it was indexed; kUnknown: it was not indexed
  std::uint64_t object_bytes = 0;       // size of the object when it was indexed
  bool shared_object = false;           // the object holds other samples too, so it is worth keeping open
  // Number of the StreamBlock that holds the bytes; -1: the object can be read anywhere. In a block, offsets count
  // uncompressed bytes.
  std::int64_t block = -1;
  // The store that has the object. The source owns it. All extents of one sample are in the same store, but samples of
  // a mixture may be in different ones.
  const Store* store = nullptr;
  // The CRC32C of the bytes, where the index knows it; bytes with another one are an error.
  std::optional<std::uint32_t> checksum = {};
};

inline Where where_of(const Extent& extent) {
  return {extent.object, static_cast<std::int64_t>(extent.offset), static_cast<std::int64_t>(extent.length), -1};
}

}  // namespace penstock
