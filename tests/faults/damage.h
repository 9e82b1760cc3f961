// What can happen to a file on its way: it is cut, bits flip, a page is zeros, two pages change places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct Damage {
  enum class Kind : std::uint8_t { kCut, kHeaderFlip, kPayloadFlip, kZeroPage, kSwapPages };
  Kind kind = Kind::kCut;
  std::size_t at = 0;     // the file's new size, the byte that changes, the page's beginning
  std::size_t other = 0;  // the bit; the other page's beginning
  std::size_t page = 0;   // its size

  std::vector<std::byte> apply(std::vector<std::byte> bytes) const;
  // Is one of these bytes among those that it cuts off or changes?
  bool touches(const std::vector<bool>& marked) const;
  std::string describe() const;
};

// How densely a file of some format is swept.
struct DamagePlan {
  std::size_t cut_every = 7;    // bytes that are not dense
  std::size_t bit_every = 1;    // bits of headers that are not dense
  std::size_t flip_every = 64;  // bytes of payload
  bool cuts = true, pages = true;
  bool has_offsets = true;  // errors say at which byte; else what is wrong by its name
};

// Which bytes are structure. Dense bytes are cut at every byte, and each of their bits is flipped.
struct FileMap {
  std::vector<bool> is_header, is_dense;
};

std::vector<Damage> list_damage(const FileMap& map, const DamagePlan& plan);

}  // namespace penstock
