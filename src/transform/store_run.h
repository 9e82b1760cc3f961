// The way back from a middle type (base/load_run.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/array.h"

namespace penstock {

// Numbers that do not fit an integer type are clamped to it.
template <typename Middle>
void store_run(DType dtype, const Middle* in, std::byte* out, std::int64_t stride, std::int64_t count);

}  // namespace penstock
