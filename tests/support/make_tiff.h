// TIFF files as writers make them, and as they never would: directories entry by entry.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace penstock {

struct TiffValues {
  std::uint16_t type = 4;  // LONG
  std::vector<std::uint64_t> values;
  std::string text = {};  // instead, for type 2
  std::int64_t claimed_count = -1;
};
using TiffTags = std::map<std::uint16_t, TiffValues>;

// One 4 x 3 page of bytes in a strip, for a start.
inline TiffTags small_page(std::uint64_t data_offset) {
  return {{256, {4, {4}}},           {257, {4, {3}}}, {258, {3, {8}}}, {259, {3, {1}}}, {262, {3, {1}}},
          {273, {4, {data_offset}}}, {277, {3, {1}}}, {278, {4, {3}}}, {279, {4, {12}}}};
}

class TiffMaker {
 public:
  explicit TiffMaker(bool big_endian = false, bool wide = false) : big_endian_(big_endian), wide_(wide) {
    put(big_endian ? 0x4d4d : 0x4949, 2);
    put(wide ? 43 : 42, 2);
    if (wide) {
      put(8, 2);
      put(0, 2);
    }
    next_at_ = file_.size();
    put(0, place_bytes());
  }

  // Where the data begin.
  std::uint64_t add_data(const std::vector<std::byte>& data) {
    file_.insert(file_.end(), data.begin(), data.end());
    return file_.size() - data.size();
  }
  std::uint64_t add_data(std::size_t size) { return add_data(std::vector<std::byte>(size, std::byte{7})); }

  // Where the directory stands.
  std::uint64_t add_page(const TiffTags& tags) {
    std::map<std::uint16_t, std::uint64_t> tables;
    for (const auto& [tag, entry] : tags)
      if (length_of(entry) > place_bytes()) {
        tables[tag] = file_.size();
        put_values(entry);
      }
    const std::uint64_t at = file_.size();
    put_at(next_at_, at, place_bytes());
    put(tags.size(), wide_ ? 8 : 2);
    for (const auto& [tag, entry] : tags) {
      put(tag, 2);
      put(entry.type, 2);
      const std::size_t count = entry.type == 2 ? entry.text.size() : entry.values.size();
      put(entry.claimed_count < 0 ? count : static_cast<std::uint64_t>(entry.claimed_count), place_bytes());
      if (tables.contains(tag)) {
        put(tables[tag], place_bytes());
        continue;
      }
      put_values(entry);
      file_.resize(file_.size() + place_bytes() - length_of(entry));
    }
    next_at_ = file_.size();
    put(0, place_bytes());
    return at;
  }

  // The last directory leads here.
  void lead_to(std::uint64_t at) { put_at(next_at_, at, place_bytes()); }

  const std::vector<std::byte>& file() const { return file_; }

 private:
  std::size_t place_bytes() const { return wide_ ? 8 : 4; }
  static std::size_t size_of_type(std::uint16_t type) {
    return type == 3 ? 2 : type == 4 ? 4 : type == 16 ? 8 : 1;
  }
  static std::size_t length_of(const TiffValues& entry) {
    return entry.type == 2 ? entry.text.size() : entry.values.size() * size_of_type(entry.type);
  }
  void put_values(const TiffValues& entry) {
    if (entry.type == 2)
      for (const char c : entry.text) put(static_cast<unsigned char>(c), 1);
    else
      for (const std::uint64_t value : entry.values) put(value, size_of_type(entry.type));
  }
  void put(std::uint64_t value, std::size_t length) {
    file_.resize(file_.size() + length);
    put_at(file_.size() - length, value, length);
  }
  void put_at(std::size_t at, std::uint64_t value, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i)
      file_[at + i] = static_cast<std::byte>(value >> 8 * (big_endian_ ? length - 1 - i : i));
  }

  bool big_endian_, wide_;
  std::vector<std::byte> file_;
  std::size_t next_at_ = 0;
};

}  // namespace penstock
