// Converts a value to a form that ops can work on. Each function copies only if the value does not have the form
// already, and fails if the scratch budget is too small.
#pragma once

#include "transform/view.h"
#include "transform/workspace.h"

namespace penstock {

// Makes the view an image of uint8 or float32 with any strides, which is the form that crops and flips need. Copies
// only if numbers must be converted. Fails if the value is neither an image nor an array of shape (H, W) or (H, W,
// 1-4).
Status make_image(View& view, Workspace& workspace);

// Makes the view an image of packed pixels of four items or one, uint8 or float32, with positive strides, which is the
// form that resampling and ops on pixels need. Fails like make_image().
Status make_packed(View& view, Workspace& workspace);

// Copies an image into packed pixels of four items or one, uint8 or float32, and returns the memory that the view then
// refers to.
Result<std::byte*> copy_packed(View& view, Workspace& workspace, DType dtype);

// Makes the view float32 and applies any pending Normalize.
Status make_float(View& view, Workspace& workspace);

}  // namespace penstock
