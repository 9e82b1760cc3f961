// One read that says everything in advance, so that a store can serve it with a single request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "store/object_version.h"

namespace penstock {

// Part of an object; by default all of it.
struct ByteRange {
  static constexpr std::uint64_t kToTheEnd = UINT64_MAX;
  std::uint64_t offset = 0;
  std::uint64_t length = kToTheEnd;
  // The last `length` bytes, or all of them if the object is shorter. `offset` must be 0.
  bool from_end = false;

  bool is_whole() const { return offset == 0 && length == kToTheEnd; }
  bool operator==(const ByteRange&) const = default;
};

struct ObjectRead {
  std::string key;
  ByteRange range;
  // A longer answer fails with kTooLarge, before its bytes are read.
  std::uint64_t max_bytes = 0;
  // If set, an object of any other version fails with kChanged.
  std::optional<ObjectVersion> version;
  // Not 0: a caller is waiting for this read and for little else. The store may then send this many requests at
  // once for it, beyond the number that it usually has in flight.
  std::size_t urgent_requests = 0;
  // A guess of the size of an object that is read whole; 0 if there is none. It only decides how much the first
  // requests ask for.
  std::uint64_t likely_bytes = 0;
  // Only the version is wanted; no bytes are read.
  bool only_version = false;
};

// The answer to an ObjectRead.
struct ObjectBytes {
  MutableBytes bytes;        // in the memory that the caller's Store::Allocate returned
  std::uint64_t offset = 0;  // of the first byte, in the object
  ObjectVersion version;     // of the object that was read
};

// A read that asks for the version of an object alone.
ObjectRead version_read(std::string key);

}  // namespace penstock
