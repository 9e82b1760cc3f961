// CRC-32C (Castagnoli) of everything we write to disk. Thread-safe.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace penstock {

// Chains: crc32c(b, crc32c(a)) is the sum over a followed by b.
std::uint32_t crc32c(ConstBytes bytes, std::uint32_t before = 0);

}  // namespace penstock
