// Identifies a version of an object.
#pragma once

#include <cstdint>

namespace penstock {

struct ObjectVersion {
  std::uint64_t size = 0;
  // For a file, the time of its last change. For an object on a server, a number made from its ETag or
  // Last-Modified header; 0 if the server sends neither.
  std::int64_t modified_ns = 0;
  // For a file, a number made from its inode and its ctime; 0 where these are not known. Permissions and links
  // change it too, so a difference does not prove that the bytes of a file in use have changed, which would be
  // an error. A cache does compare it (is_exactly): there a needless difference only costs a fresh read.
  std::uint32_t stamp = 0;

  bool operator==(const ObjectVersion& other) const {
    return size == other.size && modified_ns == other.modified_ns;
  }
  bool is_exactly(const ObjectVersion& other) const { return *this == other && stamp == other.stamp; }
};

}  // namespace penstock
