// CRC-32C (Castagnoli), the checksum of everything that the library writes to disk. Thread-safe.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace penstock {

// Chains: crc32c(b, crc32c(a)) is the checksum of a followed by b.
std::uint32_t crc32c(ConstBytes bytes, std::uint32_t before = 0);

}  // namespace penstock
