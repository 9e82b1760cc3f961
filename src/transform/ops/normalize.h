// The numbers that Normalize multiplies by and adds.
#pragma once

#include <vector>

#include "penstock/transform.h"

namespace penstock {

// The result is value * scale[c] + bias[c] in float32, for channel c. Every executor must compute it in this way.
struct NormalizeFactors {
  explicit NormalizeFactors(const Normalize& spec);

  std::vector<float> byte_scale;  // for uint8
  std::vector<float> scale;       // for every other type
  std::vector<float> bias;
};

}  // namespace penstock
