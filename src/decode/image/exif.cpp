#include "decode/image/exif.h"

#include <cstring>
#include <string_view>

namespace penstock {
namespace {

constexpr unsigned kOrientationTag = 0x0112;

// Reads numbers of a TIFF block in its byte order. Numbers past the end are 0.
class TiffNumbers {
 public:
  explicit TiffNumbers(ConstBytes block)
      : block_(block),
        big_endian_(!block.empty() && block[0] == std::byte{'M'}) {}

  unsigned u16(std::size_t at) const {
    if (at + 2 > block_.size()) return 0;
    const auto a = std::to_integer<unsigned>(block_[at]), b = std::to_integer<unsigned>(block_[at + 1]);
    return big_endian_ ? a << 8 | b : b << 8 | a;
  }
  std::size_t u32(std::size_t at) const {
    return big_endian_ ? std::size_t{u16(at)} << 16 | u16(at + 2) : std::size_t{u16(at + 2)} << 16 | u16(at);
  }

 private:
  ConstBytes block_;
  bool big_endian_;
};

// The size of one value of a TIFF type that Pillow reads as an integer; 0 for other types.
std::size_t bytes_of_whole_number(unsigned type) {
  switch (type) {
    case 3:            // SHORT
    case 8: return 2;  // SSHORT
    case 4:            // LONG
    case 9:            // SLONG
    case 13: return 4;  // IFD
    default: return 0;
  }
}

// Calls visit(marker, body) for each segment before the scan, until it returns false; returns where
// the walk ended.
template <typename Visit>
std::size_t walk_segments(ConstBytes jpeg, Visit visit) {
  std::size_t at = 2;
  while (at + 4 <= jpeg.size() && jpeg[at] == std::byte{0xFF}) {
    const auto marker = std::to_integer<unsigned>(jpeg[at + 1]);
    if (marker == 0xFF) {  // padding before a marker
      ++at;
      continue;
    }
    const std::size_t length =
        std::to_integer<std::size_t>(jpeg[at + 2]) << 8 | std::to_integer<std::size_t>(jpeg[at + 3]);
    if (marker == 0xDA || length < 2 || length > jpeg.size() - at - 2) break;
    if (!visit(marker, jpeg.subspan(at + 4, length - 2))) break;
    at += 2 + length;
  }
  return at;
}

}  // namespace

int orientation_in_exif(ConstBytes block) {
  using namespace std::string_view_literals;
  const auto begins = [&](std::string_view magic) {
    return block.size() >= magic.size() && std::memcmp(block.data(), magic.data(), magic.size()) == 0;
  };
  for (int repeat = 0; repeat < 2 && begins("Exif\0\0"sv); ++repeat) block = block.subspan(6);
  if (!begins("II*\0"sv) && !begins("MM\0*"sv)) return 1;
  const TiffNumbers numbers(block);
  const std::size_t directory = numbers.u32(4);
  if (directory > block.size()) return 1;
  const unsigned entries = numbers.u16(directory);
  for (unsigned i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + std::size_t{12} * i;
    if (entry + 12 > block.size()) break;
    if (numbers.u16(entry) != kOrientationTag) continue;
    const std::size_t item = bytes_of_whole_number(numbers.u16(entry + 2)), count = numbers.u32(entry + 4);
    if (item == 0 || count == 0) continue;
    // Values that do not fit into the entry are stored elsewhere. The first value counts.
    const std::size_t at = item * count <= 4 ? entry + 8 : numbers.u32(entry + 8);
    const std::size_t value = item == 4 ? numbers.u32(at) : numbers.u16(at);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int exif_orientation(ConstBytes jpeg) {
  int orientation = 1;
  walk_segments(jpeg, [&](unsigned marker, ConstBytes body) {
    if (marker != 0xE1 || body.size() <= 14 || std::memcmp(body.data(), "Exif\0\0", 6) != 0) return true;
    orientation = orientation_in_exif(body);
    return false;
  });
  return orientation;
}

std::size_t jpeg_scan_offset(ConstBytes jpeg) {
  return walk_segments(jpeg, [](unsigned, ConstBytes) { return true; });
}

}  // namespace penstock
