// Stores a run of elements of an intermediate type (base/load_run.h) as another type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/array.h"

namespace penstock {

// Numbers outside the range of an integer type are clamped.
template <typename Middle>
void store_run(DType dtype, const Middle* in, std::byte* out, std::int64_t stride, std::int64_t count);

}  // namespace penstock
