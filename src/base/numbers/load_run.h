// Converts elements of any real type to a type that holds them: double, or a 64-bit integer for integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/array.h"

namespace penstock {

// Loads `count` elements that are `stride` bytes apart. `swapped` means that they are stored in the other byte order.
// Middle is double, int64 or uint64. Complex numbers are not supported: `out` is left unchanged.
template <typename Middle>
void load_run(DType dtype, const std::byte* data, std::int64_t stride, bool swapped, Middle* out,
              std::int64_t count);

}  // namespace penstock
