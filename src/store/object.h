// An object that was opened for reading: a file, an object in memory, or one on a server.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "penstock/result.h"
#include "store/object_version.h"

namespace penstock {

// Store::open() makes it; the caller owns it. It may outlive its store. It has no position: every read names its
// offset. One thread at a time may use it.
class Object {
 public:
  virtual ~Object() = default;

  // The version when the object was opened.
  const ObjectVersion& version() const { return version_; }
  // The version now, where the store can tell it cheaply; otherwise the one above.
  virtual Result<ObjectVersion> version_now() const { return version_; }

  // Fills all parts, one after the other, from consecutive bytes at `offset`. Either all parts are filled or the
  // call fails; after a failure their contents are undefined. A read past the end fails with kTruncated.
  virtual Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) = 0;

  Status read_at(std::uint64_t offset, MutableBytes part) {
    return read_at(offset, std::span<const MutableBytes>(&part, 1));
  }

 protected:
  explicit Object(ObjectVersion version) : version_(version) {}

 private:
  ObjectVersion version_;
};

}  // namespace penstock
