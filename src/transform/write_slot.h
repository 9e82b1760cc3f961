// The last step of a sample: writes a view into its slot of the batch, in the type and layout of the batch.
#pragma once

#include "transform/view.h"

namespace penstock {

// Returns whether elements of one type can be stored as the other. Complex numbers can be stored only as
// their own type.
bool can_convert(DType from, DType to);

// Copies all elements of `from` to the memory `out` with the layout of `to`, which has the same shape.
// Converts the type and applies the pending Normalize. Numbers outside the range of an integer type are
// clamped. Thread-safe.
void copy_view(const View& from, std::byte* out, const View& to);

}  // namespace penstock
