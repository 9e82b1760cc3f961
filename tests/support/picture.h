// Pictures in memory that tests encode and that decoders give back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

using Encoded = std::vector<std::byte>;

struct Picture {
  int width = 0, height = 0, channels = 3;
  std::vector<std::uint8_t> pixels;  // packed rows

  std::uint8_t at(int x, int y, int c) const {
    return pixels[(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(x)) *
                      static_cast<std::size_t>(channels) +
                  static_cast<std::size_t>(c)];
  }
};

// All values are the same.
inline Picture flat_picture(int width, int height, int channels, std::uint8_t value) {
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  return {width, height, channels, std::vector<std::uint8_t>(pixels * static_cast<std::size_t>(channels), value)};
}

}  // namespace penstock
