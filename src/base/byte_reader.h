// Reads little-endian numbers and strings from bytes whose length cannot be trusted.
//
// Every access is checked. A read past the end makes the reader bad; it stays bad and returns zeros, so a parser may
// read a whole record and call ok() once. The bytes are borrowed. Thread-compatible.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <string_view>

#include "base/bytes.h"

namespace penstock {

class ByteReader {
 public:
  explicit ByteReader(ConstBytes bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t offset() const { return offset_; }
  std::size_t left() const { return bytes_.size() - offset_; }

  template <std::integral T>
  T read() {
    T value{};
    const ConstBytes raw = take(sizeof(T));
    if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof(T));
    static_assert(std::endian::native == std::endian::little);
    return value;
  }

  // Returns an empty span, and makes the reader bad, if fewer bytes are left.
  ConstBytes take(std::size_t size) {
    if (!ok_ || size > left()) {
      ok_ = false;
      return {};
    }
    const ConstBytes part = bytes_.subspan(offset_, size);
    offset_ += size;
    return part;
  }

  std::string_view take_text(std::size_t size) {
    const ConstBytes raw = take(size);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

 private:
  ConstBytes bytes_;
  std::size_t offset_ = 0;
  bool ok_ = true;
};

}  // namespace penstock
