// The last step: a view becomes elements of another type and layout, once, where they belong.
#pragma once

#include "transform/view.h"

namespace penstock {

// True where elements of one type can be stored as the other. Complex numbers can only be stored as themselves.
bool can_convert(DType from, DType to);

// Copies all elements of `from` to the places that `to` (same shape, at memory `out`) describes,
// converting the type and applying the pending Normalize. Numbers that do not fit an integer
// type are clamped to it.
void copy_view(const View& from, std::byte* out, const View& to);

}  // namespace penstock
