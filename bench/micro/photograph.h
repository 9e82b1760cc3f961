// A JPEG with as many bits per pixel as a photograph at this quality.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "support/encode_jpeg.h"

namespace penstock {

inline Encoded photograph(int width, int height, const JpegOptions& options = {.quality = 92}) {
  std::vector<std::uint8_t> pixels(std::size_t{3} * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  unsigned state = 1;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto column = i / 3 % static_cast<std::size_t>(width), row = i / 3 / static_cast<std::size_t>(width);
    state = state * 1664525u + 1013904223u;
    pixels[i] = static_cast<unsigned char>(
        120 + 60 * std::sin(static_cast<double>(column) / 31 + static_cast<double>(i % 3)) +
        40 * std::cos(static_cast<double>(row) / 17) + (state >> 28));
  }
  return encode_jpeg({width, height, 3, std::move(pixels)}, options);
}

}  // namespace penstock
