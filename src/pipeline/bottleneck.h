// Names the bottleneck of a run. It is a pure function of the counters, so that a tuner can call it too.
#pragma once

#include <string>

#include "penstock/stats.h"

namespace penstock {

// Returns "training step" if the consumer hardly waits; otherwise the slowest stage, or "memory" if chunks are decoded
// repeatedly because they do not fit; "unknown" before the first batch.
std::string find_bottleneck(const LoaderStats& stats);

}  // namespace penstock
