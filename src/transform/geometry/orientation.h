// EXIF orientation as a change of coordinates and of strides: no pixel moves.
#pragma once

#include <utility>

#include "decode/image/image.h"
#include "transform/view.h"

namespace penstock {

// The stored picture is flipped, then (for 5 to 8) its axes are swapped, to be upright.
struct Orientation {
  bool flip_horizontal = false, flip_vertical = false, swap_axes = false;

  explicit Orientation(int exif) {
    flip_horizontal = exif == 2 || exif == 3 || exif == 7 || exif == 8;
    flip_vertical = exif == 3 || exif == 4 || exif == 6 || exif == 7;
    swap_axes = exif >= 5;
  }

  // Returns the rectangle of stored pixels that corresponds to one of the upright image.
  Rect to_stored(Rect upright, int stored_width, int stored_height) const {
    if (swap_axes) {
      std::swap(upright.x, upright.y);
      std::swap(upright.width, upright.height);
    }
    if (flip_horizontal) upright.x = stored_width - upright.x - upright.width;
    if (flip_vertical) upright.y = stored_height - upright.y - upright.height;
    return upright;
  }

  void apply(View& view) const {
    if (flip_horizontal) view.flip(1);
    if (flip_vertical) view.flip(0);
    if (swap_axes) {
      std::swap(view.shape[0], view.shape[1]);
      std::swap(view.stride[0], view.stride[1]);
    }
  }
};

}  // namespace penstock
