// Divides the part of a Zarr variable that a sample takes into boxes of its arrays.
#pragma once

#include <vector>

#include "source/array_box.h"
#include "source/zarr/variable.h"

namespace penstock {

// The position of a variable's steps in the sample.
struct BoxTarget {
  std::int64_t to = 0;  // element of the sample at which the first step begins
  std::int64_t step_stride = 0;  // distance between two steps, in elements of the sample
  bool is_stack = false;  // all axes of the variable but the last two are merged into channels
};

// `times` are entries of the sample dimension, one per step; a variable without that dimension has one step. The
// arrays of the variable are consecutive in those of the source, beginning with `first_array`. Steps across the
// joint of two stores become boxes of both.
void add_boxes_of_steps(const Variable& variable, std::size_t first_array, IndexRun times, BoxTarget target,
                        std::vector<ArrayBox>& out);

// The number of consecutive entries of the run that lie in [begin, end), beginning with its first entry, which
// must lie there.
std::int64_t entries_within(const IndexRun& run, std::int64_t begin, std::int64_t end);

}  // namespace penstock
