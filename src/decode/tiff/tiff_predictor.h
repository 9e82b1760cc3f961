// Undoes what TIFF writers do before they compress: differences along rows (predictor 2), and for
// floating point the bytes of a row regrouped by significance, then differences of those (3).
#pragma once

#include "base/bytes.h"
#include "penstock/array.h"

namespace penstock {

// Rows of elements, `samples` to a pixel, one after another in `rows`; the elements come out in the
// byte order of this machine. For elements of 1, 2, 4 or 8 bytes.
void undo_tiff_differences(MutableBytes rows, std::size_t row_bytes, std::size_t element_bytes,
                           std::size_t samples, bool big_endian);

// The same for predictor 3, which is of no byte order. `spare` has a row's size.
void undo_tiff_float_differences(MutableBytes rows, std::size_t row_bytes, std::size_t element_bytes,
                                 std::size_t samples, MutableBytes spare);

}  // namespace penstock
