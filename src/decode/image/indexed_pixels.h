// Pixels that are indexes into a palette, packed from the highest bit of each byte, as BMP, GIF, TIFF and PBM
// store them.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "decode/image/grey.h"
#include "decode/image/image.h"

namespace penstock {

struct Rgbx {
  std::uint8_t red = 0, green = 0, blue = 0, unused = 0xFF;
  bool operator==(const Rgbx&) const = default;
};

using Palette = std::array<Rgbx, 256>;

// The palette of files without one: every index is its own shade of grey.
inline Palette grey_ramp() {
  Palette palette;
  for (std::size_t i = 0; i < palette.size(); ++i) {
    const auto shade = static_cast<std::uint8_t>(i);
    palette[i] = {shade, shade, shade, 0xFF};
  }
  return palette;
}

// Completes a palette whose first `count` colours come from a file. As in Pillow, the others are black,
// unless the colours of the file are a grey ramp, which Pillow treats as no palette.
inline void fill_up(Palette& palette, std::size_t count) {
  const Palette ramp = grey_ramp();
  const auto ends = palette.begin() + static_cast<std::ptrdiff_t>(count);
  if (std::equal(palette.begin(), ends, ramp.begin()))
    palette = ramp;
  else
    std::fill(ends, palette.end(), Rgbx{});
}

// The pixel at column `x` of a row with 1, 2, 4 or 8 bits per pixel.
inline std::uint8_t index_at(const std::byte* row, std::size_t x, unsigned bits) {
  if (bits == 8) return std::to_integer<std::uint8_t>(row[x]);
  const std::size_t bit = x * bits;
  const unsigned shift = 8 - bits - static_cast<unsigned>(bit % 8);
  return static_cast<std::uint8_t>(std::to_integer<unsigned>(row[bit / 8]) >> shift & ((1u << bits) - 1));
}

// Writes `count` pixels from column `x` on: their indexes for kIndex, otherwise their colours with four bytes
// each.
inline void write_indexed_row(const std::byte* row, unsigned bits, int x, int count, const Palette& palette,
                              PixelFormat format, std::byte* out) {
  for (int i = 0; i < count; ++i) {
    const std::uint8_t index = index_at(row, static_cast<std::size_t>(x + i), bits);
    if (format == PixelFormat::kIndex)
      out[i] = std::byte{index};
    else
      std::memcpy(out + std::ptrdiff_t{4} * i, &palette[index], 4);
  }
}

// Bytes per pixel during decoding. Grey is computed from colours at the end.
inline std::size_t decoded_pixel_bytes(PixelFormat format) { return format == PixelFormat::kIndex ? 1 : 4; }
inline std::size_t decoded_row_bytes(const DecodeRequest& request) {
  return static_cast<std::size_t>(request.region.width) * decoded_pixel_bytes(request.format);
}
inline std::size_t decoded_region_bytes(const DecodeRequest& request) {
  return static_cast<std::size_t>(request.region.height) * decoded_row_bytes(request);
}

// The region whose rows were decoded to the beginning of the buffer, in the format that was asked for.
inline PixelView finish_region(const DecodeRequest& request, MutableBytes buffer) {
  const PixelView view{buffer.data(), request.region.width, request.region.height,
                       static_cast<std::ptrdiff_t>(decoded_row_bytes(request))};
  return request.format == PixelFormat::kGrey ? grey_in_place(view, buffer.data()) : view;
}

}  // namespace penstock
