// Elements of any real type, to a middle type that holds them: double, or a 64-bit integer where they
// are integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/array.h"

namespace penstock {

// A run of elements `stride` bytes apart; `swapped`: stored in the other byte order. Middle: double,
// int64 or uint64. Complex numbers are left out.
template <typename Middle>
void load_run(DType dtype, const std::byte* data, std::int64_t stride, bool swapped, Middle* out,
              std::int64_t count);

}  // namespace penstock
