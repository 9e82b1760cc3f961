// The forms of a value that ops work on. Each function copies only where the value does not have the form already,
// and fails where the scratch budget is too small.
#pragma once

#include "transform/view.h"
#include "transform/workspace.h"

namespace penstock {

// Makes the view an image of uint8 or float32 with any strides, which is what crops and flips work on. Copies only
// where numbers must be converted. Fails where the value is neither an image nor an array of shape (H, W) or
// (H, W, 1-4).
Status make_image(View& view, Workspace& workspace);

// Makes the view an image of packed pixels of four items or one, uint8 or float32, with positive strides, which is
// what resampling and ops on pixels work on. Fails like make_image().
Status make_packed(View& view, Workspace& workspace);

// Copies an image into packed pixels of four items or one, uint8 or float32, and returns the memory that the view is
// of afterwards.
Result<std::byte*> copy_packed(View& view, Workspace& workspace, DType dtype);

// Makes the view float32, with any pending Normalize carried out.
Status make_float(View& view, Workspace& workspace);

}  // namespace penstock
