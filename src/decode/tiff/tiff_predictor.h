// Undoes the predictors of TIFF, which writers apply before compression: differences along rows (predictor
// 2); and, for floating point, grouping the bytes of a row by significance, then differences of those
// (predictor 3).
#pragma once

#include "base/bytes.h"
#include "penstock/array.h"

namespace penstock {

// Undoes predictor 2 in place for consecutive rows with `samples` elements per pixel, of 1, 2, 4 or 8 bytes
// each. The result has the byte order of this machine.
void undo_tiff_differences(MutableBytes rows, std::size_t row_bytes, std::size_t element_bytes,
                           std::size_t samples, bool big_endian);

// Undoes predictor 3, which does not depend on the byte order. `spare` must have the size of a row.
void undo_tiff_float_differences(MutableBytes rows, std::size_t row_bytes, std::size_t element_bytes,
                                 std::size_t samples, MutableBytes spare);

}  // namespace penstock
