// Ink to light, as Pillow's convert("RGB") computes it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

// The light that is left of `white` (255 less the black ink) under one coloured ink.
inline std::uint8_t light_under_ink(unsigned ink, unsigned white) {
  const unsigned product = ink * white + 128;
  const unsigned lost = ((product >> 8) + product) >> 8;
  return static_cast<std::uint8_t>(white - std::min(white, lost));
}

}  // namespace penstock
