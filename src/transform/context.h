// The state with which a worker runs programs: memory, random draws, and a plan that it reuses for every sample.
//
// A running op gets only the Workspace. All random draws happen while a sample is planned, so a running op has no
// generator to draw from. Both belong to one thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/memory/scratch.h"
#include "base/random.h"
#include "base/stats.h"
#include "transform/program_plan.h"
#include "transform/scratch_use.h"
#include "transform/view.h"
#include "transform/workspace.h"

namespace penstock {

struct Context : Workspace {
  Context(Scratch& scratch_, StageClock& clock_) : Workspace(scratch_), clock(clock_) {}

  StageClock& clock;
  Draws draws{0, 0, 0};                        // the random numbers of the sample, for planning
  ProgramPlan plan;                            // the plan that runs now; a member so that its memory is reused
  std::optional<std::pair<int, int>> picture;  // width and height of the sample's first picture
};

}  // namespace penstock
