// The verdict over a run: who was waited for. A pure function of the counters, so that whoever has them may ask.
#pragma once

#include <string>

#include "penstock/stats.h"

namespace penstock {

// "training step" where the consumer hardly waits; else the slowest stage, or "memory" where chunks are decoded again
// because they did not fit; "unknown" before the first batch.
std::string find_bottleneck(const LoaderStats& stats);

}  // namespace penstock
