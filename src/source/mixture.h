// Sources that are drawn from by weight.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

// A mixture draws from its parts by weight. The samples of the parts follow one another.
struct Mixture {
  std::vector<std::uint64_t> sizes;
  std::vector<double> weights;
};

}  // namespace penstock
