// Sizes in memory are written in these units.
#pragma once

#include <cstdint>

namespace penstock {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace penstock
