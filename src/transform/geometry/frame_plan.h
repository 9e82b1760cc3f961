// The effect of a run of crops, flips and at most one resize on the pixels of one image: the pixels that it reads, and
// the weight of each of them in each output.
//
// It is made from a Frame after all ops of the run are planned. It is a plain value without pointers, so a device or
// another process that has the pixels can apply it.
#pragma once

#include "transform/workspace.h"
#include "transform/geometry/frame.h"
#include "transform/geometry/resample.h"
#include "transform/view.h"

namespace penstock {

struct FramePlan {
  // The part of the image that is needed. Pixels outside it do not change the result, so a decoder skips them.
  Rect reads;
  // If false, the result is `reads`, mirrored according to the two flags. If true, the result is resampled from `reads`
  // with the weights below, which are mirrored already and count pixels from the first one of `reads`.
  bool resamples = false;
  bool mirror_x = false, mirror_y = false;
  AxisPlan columns, rows;

  // Replaces this plan with that of `frame`. With a `scale` above 1, the pixels of `reads` will be decoded at that
  // fraction of their size, rounded outwards as the decoder does; `reads` still counts pixels of the whole image.
  void assign(const Frame& frame, int scale);
};

// Replaces `view`, which shows the pixels of `plan.reads`, with the result of the plan. Fails if the scratch budget is
// too small.
Status apply_frame(const FramePlan& plan, View& view, Workspace& workspace);

}  // namespace penstock
