// What a worker brings along to run programs: memory, random draws, and a plan that it uses again and again.
//
// Ops see the Workspace alone: all random draws happen while a sample is planned, so an op that runs has no
// generator that it could draw from. Both belong to one thread.
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
  ProgramPlan plan;                            // of the steps that run now; a member so that its memory is reused
  std::optional<std::pair<int, int>> picture;  // width and height of the sample's first picture
};

}  // namespace penstock
