// Colour to luma, as Pillow's convert("L") computes it.
#pragma once

#include "decode/image/image.h"

namespace penstock {

inline std::uint8_t luma(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<std::uint8_t>((red * 19595u + green * 38470u + blue * 7471u + 0x8000u) >> 16);
}

// Four-byte pixels to one-byte pixels, in place: the result is never longer than the input.
inline PixelView grey_in_place(const PixelView& rgbx, std::byte* buffer) {
  auto* out = reinterpret_cast<std::uint8_t*>(buffer);
  for (int y = 0; y < rgbx.height; ++y) {
    const auto* row = reinterpret_cast<const std::uint8_t*>(rgbx.data + y * rgbx.row_stride);
    for (int x = 0; x < rgbx.width; ++x) *out++ = luma(row[4 * x], row[4 * x + 1], row[4 * x + 2]);
  }
  return {buffer, rgbx.width, rgbx.height, rgbx.width};
}

}  // namespace penstock
