// Everything that is decided about one sample before its pixels exist: every random draw, every frame and its weights.
//
// A program is planned first (Program::plan_image), then the pixels that the plan needs are decoded
// (Program::decode), then the rest of the steps runs from the plan alone, on this processor (Program::run_planned) or
// in another RestExecutor. It is a value without pointers. clear() keeps the memory of earlier plans, so that a worker
// plans its samples without allocating.
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "transform/geometry/frame_plan.h"
#include "transform/op_plan.h"

namespace penstock {

// One step: a run of geometric ops that were joined into one frame, or one op that works on pixels.
struct StepPlan {
  std::size_t first_op = 0, end_op = 0;  // the ops of the program that this step runs
  bool is_frame = false;
  FramePlan frame;  // used if is_frame
  OpPlan op;        // used otherwise
};

class ProgramPlan {
 public:
  // The steps in their order.
  std::span<const StepPlan> steps() const { return std::span(steps_).first(count_); }

  // The first op that is not planned. An op that needs the size of the image cannot be planned before an op whose
  // result size is unknown has run: the function of a Map may return any size.
  std::size_t end_op() const { return end_op_; }

  // Whether the plan begins with an encoded image. Then the first step is a frame, and its input is only the pixels of
  // frame.reads, upright, at 1/scale() of their size.
  bool begins_encoded() const { return begins_encoded_; }
  int scale() const { return scale_; }

  // The functions below are for planning.
  void clear(std::size_t first_op) {
    count_ = 0;
    end_op_ = first_op;
    begins_encoded_ = false;
    scale_ = 1;
  }
  void begin_encoded(int scale) {
    begins_encoded_ = true;
    scale_ = scale;
  }
  // Adds a step that runs the ops up to `next_op`. The reference is valid until the next call.
  StepPlan& add_step(std::size_t next_op) {
    if (count_ == steps_.size()) steps_.emplace_back();
    StepPlan& step = steps_[count_++];
    step.first_op = end_op_;
    step.end_op = end_op_ = next_op;
    return step;
  }

 private:
  std::vector<StepPlan> steps_;  // only the first count_ are in use; the others are from earlier plans
  std::size_t count_ = 0;
  std::size_t end_op_ = 0;
  bool begins_encoded_ = false;
  int scale_ = 1;
};

}  // namespace penstock
