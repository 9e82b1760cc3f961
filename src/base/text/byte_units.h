// Units for sizes in memory.
#pragma once

#include <cstdint>

namespace penstock {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace penstock
