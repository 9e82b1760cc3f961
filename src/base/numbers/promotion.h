// The type that holds the values of two types, as NumPy's result_type chooses it.
#pragma once

#include "penstock/array.h"

namespace penstock {

// Neither type may be complex.
DType promoted(DType a, DType b);

}  // namespace penstock
