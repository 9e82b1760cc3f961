// The values that ColorJitter draws for one image.
#pragma once

#include <array>
#include <cstdint>

namespace penstock {

enum class JitterStep : std::uint8_t { kBrightness, kContrast, kSaturation, kHue };

struct ColorJitterPlan {
  std::array<JitterStep, 4> order{};
  float brightness = 1, contrast = 1, saturation = 1, hue = 0;  // these values change nothing
};

// Applies the plan in place to `count` pixels of four bytes (R, G, B, unused), with Pillow's arithmetic.
void jitter_pixels(const ColorJitterPlan& plan, std::uint8_t* pixels, std::size_t count);

}  // namespace penstock
