// Finds the next marker in the entropy-coded data of a JPEG.
#pragma once

#include <cstdint>

namespace penstock {

// Returns the first FF in [at, end) that is followed by neither 00 (a stuffed byte) nor FF (padding); `end` if there is
// none.
const std::uint8_t* find_jpeg_marker(const std::uint8_t* at, const std::uint8_t* end);

}  // namespace penstock
