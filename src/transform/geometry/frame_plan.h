// What a run of crops, flips and at most one resize does to the pixels of one image: which pixels it reads, and
// how much of each goes into each output.
//
// It is made from a Frame once all of its ops are planned. A plain value without pointers: whoever has the pixels
// can carry it out.
#pragma once

#include "transform/workspace.h"
#include "transform/geometry/frame.h"
#include "transform/geometry/resample.h"
#include "transform/view.h"

namespace penstock {

struct FramePlan {
  // The part of the image that is needed. Pixels outside it do not change the result, so a decoder leaves them out.
  Rect reads;
  // False: the result is `reads`, mirrored as the two flags say. True: the result is resampled from `reads` by the
  // weights below, which are mirrored already and count pixels from the first one of `reads`.
  bool resamples = false;
  bool mirror_x = false, mirror_y = false;
  AxisPlan columns, rows;

  // Replaces this plan with that of `frame`. With a `scale` above 1, the pixels of `reads` will be decoded at that
  // fraction of their size, rounded outwards as the decoder does; `reads` still counts pixels of the whole image.
  void assign(const Frame& frame, int scale);
};

// Replaces `view`, which shows the pixels of `plan.reads`, with the result of the plan.
// Fails where the scratch budget is too small.
Status apply_frame(const FramePlan& plan, View& view, Workspace& workspace);

}  // namespace penstock
