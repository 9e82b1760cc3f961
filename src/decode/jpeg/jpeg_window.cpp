#include "decode/jpeg/jpeg_window.h"

#include <algorithm>
#include <cstdint>

namespace penstock {
namespace {

constexpr std::size_t kMostHeaderBytes = 16 << 10;  // beside markers that are left out; tables take some 600
constexpr std::size_t kOffsetOfHeight = 5;          // in a frame header, from its marker on
constexpr std::size_t kShortestFrameHeader = 9;

// Along one axis, [begin, end) becomes whole MCUs of `side` pixels with all that it depends on. Upsampling looks at one
// subsampled pixel beyond, and the codec takes one more column.
void widen_to_mcus(int& begin, int& end, int image_end, int side, int factor, int scale_denominator) {
  const int margin = (1 + 2 * factor) * scale_denominator;
  begin = std::max(0, begin - margin) / side * side;
  end = std::min(image_end, (end + margin + side - 1) / side * side);
}

bool is_frame_header(unsigned marker) { return marker == 0xC0 || marker == 0xC1; }

// Those that matter to the pixels: tables, restart interval, frame, scan, and whose colours the image has.
bool is_kept(unsigned marker) {
  switch (marker) {
    case 0xC4:  // DHT
    case 0xDB:  // DQT
    case 0xDD:  // DRI
    case 0xDA:  // SOS
    case 0xE0:  // JFIF
    case 0xEE:  // Adobe
      return true;
    default: return is_frame_header(marker);
  }
}

bool is_left_out(unsigned marker) { return (marker >= 0xE0 && marker <= 0xEF) || marker == 0xFE; }

void set_u16(std::byte* at, int value) {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value);
}

}  // namespace

JpegWindow jpeg_window(const jpeg_decompress_struct& image, const Rect& region, int scale_denominator) {
  const int width = static_cast<int>(image.image_width), height = static_cast<int>(image.image_height);
  const int across = image.max_h_samp_factor, down = image.max_v_samp_factor;
  int left = region.x, right = region.x + region.width, top = region.y, bottom = region.y + region.height;
  widen_to_mcus(left, right, width, DCTSIZE * across, across, scale_denominator);
  widen_to_mcus(top, bottom, height, DCTSIZE * down, down, scale_denominator);
  // The only component of a scan is not interleaved: its MCU is one block.
  const int mcu_width = DCTSIZE * (image.comps_in_scan == 1 ? 1 : across);
  const int mcu_height = DCTSIZE * (image.comps_in_scan == 1 ? 1 : down);
  return {{left, top, right - left, bottom - top},
          static_cast<unsigned>(left / mcu_width),
          static_cast<unsigned>(top / mcu_height),
          static_cast<unsigned>((width + mcu_width - 1) / mcu_width),
          static_cast<unsigned>((height + mcu_height - 1) / mcu_height),
          left == 0 && right == width && top == 0 && bottom == height,
          right == width && bottom == height};
}

bool write_window_header(ConstBytes header, const Rect& window, std::vector<std::byte>& out) {
  out.assign({std::byte{0xFF}, std::byte{0xD8}});
  std::size_t at = 2;
  while (at + 4 <= header.size()) {
    if (header[at] != std::byte{0xFF}) return false;
    const auto marker = std::to_integer<unsigned>(header[at + 1]);
    if (marker == 0xFF) {  // padding before a marker
      ++at;
      continue;
    }
    const std::size_t length =
        2 + (std::to_integer<std::size_t>(header[at + 2]) << 8 | std::to_integer<std::size_t>(header[at + 3]));
    if (length > header.size() - at) return false;
    const ConstBytes segment = header.subspan(at, length);
    at += length;
    if (is_kept(marker)) {
      if (out.size() + length > kMostHeaderBytes) return false;
      out.insert(out.end(), segment.begin(), segment.end());
      if (is_frame_header(marker)) {
        if (length < kShortestFrameHeader) return false;
        std::byte* const size = out.data() + out.size() - length + kOffsetOfHeight;
        set_u16(size, window.height);
        set_u16(size + 2, window.width);
      }
      if (marker == 0xDA) return at == header.size();
    } else if (!is_left_out(marker)) {
      return false;
    }
  }
  return false;
}

}  // namespace penstock
