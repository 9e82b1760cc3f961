// The geometry of a run of crops, flips and at most one resize, computed before any pixel exists.
//
// Why: a crop is chosen from the header, so only its pixels are decoded. If a resize is followed by a crop (the usual
// evaluation pipeline), only the rows and columns that survive the crop are decoded and computed. Ops change a Frame
// one after the other, and a FramePlan is made from the result. It is a value.
#pragma once

#include "decode/image/image.h"
#include "penstock/transform.h"

namespace penstock {

struct Frame {
  Frame(int width, int height) : source{0, 0, width, height} {}

  Rect source;  // the part of the current image that is used
  bool resampled = false;
  int full_width = 0, full_height = 0;  // the size to which the whole of `source` is resized
  Rect window;                          // the part of the resized image that is needed
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;
  bool mirror_x = false, mirror_y = false;  // the result is mirrored

  int width() const { return resampled ? window.width : source.width; }
  int height() const { return resampled ? window.height : source.height; }

  // `rect` must be within the current width and height. Its coordinates are those after any flip.
  void crop(Rect rect) {
    if (mirror_x) rect.x = width() - rect.x - rect.width;
    if (mirror_y) rect.y = height() - rect.y - rect.height;
    Rect& target = resampled ? window : source;
    target = {target.x + rect.x, target.y + rect.y, rect.width, rect.height};
  }

  // Returns false if a resize was planned already; the caller must compute those pixels first.
  bool resize(int new_height, int new_width, Interpolation filter, bool with_antialias) {
    if (new_width == width() && new_height == height()) return true;
    if (resampled) return false;
    resampled = true;
    full_width = new_width;
    full_height = new_height;
    window = {0, 0, new_width, new_height};
    interpolation = filter;
    antialias = with_antialias;
    return true;
  }
};

}  // namespace penstock
