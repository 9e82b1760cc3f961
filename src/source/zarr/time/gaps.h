// Finds the windows of consecutive entries that have no gap in time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "source/zarr/time/calendar.h"
#include "source/zarr/index_runs.h"

namespace penstock {

// A step of more than 1.5 times the median step is a gap. Months, which have 28 to 31 days, never are.
constexpr double kLongestStep = 1.5;

struct WindowsInTime {
  IndexRuns windows;  // the entries whose window is complete and without a gap
  std::uint64_t left_out = 0;
  // The reasons, as numbers of steps: longer than allowed, and not forward in time.
  std::uint64_t gaps = 0, not_increasing = 0;
  double median_seconds = 0;

  // For messages: "of 99 steps, 1 is ...".
  std::string reason() const;
};

// The window of entry k holds the entries k + lowest to k + highest out of 0 to count - 1. `moment_at` returns the
// time of an entry; an entry without a time has a gap on both sides.
WindowsInTime windows_without_gaps(std::int64_t count,
                                   const std::function<std::optional<Moment>(std::int64_t)>& moment_at,
                                   std::int64_t lowest, std::int64_t highest);

}  // namespace penstock
