// Columns of numbers and texts, one after another in one block of bytes: the form of the indexes that are saved.
//
// Every column begins at a multiple of eight bytes, so that a file is used as it was read, without a copy. Each object
// belongs to one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/bytes.h"
#include "base/checked_math.h"

namespace penstock {

constexpr std::size_t kColumnAlignment = 8;

// Writes columns one after another, each padded to the alignment.
class ColumnWriter {
 public:
  void number(std::uint64_t value) { append(&value, sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    append(value.data(), value.size());
  }
  template <typename T>
  void column(const std::vector<T>& values) {
    append(values.data(), values.size() * sizeof(T));
  }
  void append(const void* data, std::size_t size) {
    const auto* raw = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), raw, raw + size);
    bytes_.resize((bytes_.size() + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment);
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  std::vector<std::byte> take() { return std::move(bytes_); }
  ConstBytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class ColumnReader {
 public:
  explicit ColumnReader(ConstBytes bytes) : reader_(bytes) {}

  bool ok() const { return reader_.ok(); }
  std::size_t left() const { return reader_.left(); }
  std::uint64_t number() { return reader_.read<std::uint64_t>(); }
  std::string_view text() { return text(number()); }
  std::string_view text(std::uint64_t size) {
    const ConstBytes raw = padded(size);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  template <typename T>
  std::span<const T> column(std::uint64_t count) {
    const auto size = checked_multiply<std::uint64_t>(count, sizeof(T));
    const ConstBytes raw = padded(size.value_or(~std::uint64_t{0}));
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }

 private:
  ConstBytes padded(std::uint64_t size) {
    if (size > reader_.left()) return reader_.take(reader_.left() + 1);  // makes the reader fail
    const ConstBytes raw = reader_.take(size);
    reader_.take((kColumnAlignment - size % kColumnAlignment) % kColumnAlignment);
    return raw;
  }

  ByteReader reader_;
};

}  // namespace penstock
