// Cuts what a sample takes of a Zarr variable into boxes of its arrays.
#pragma once

#include <vector>

#include "source/array_box.h"
#include "source/zarr/variable.h"

namespace penstock {

// Where the steps of a variable go in the sample.
struct BoxTarget {
  std::int64_t to = 0;           // element of the sample that the first step begins with
  std::int64_t step_stride = 0;  // elements of the sample from one step to the next
  bool is_stack = false;         // all axes of the variable but its last two are channels, one after another
};

// `times` are entries of the sample dimension, of which each is a step; one for a variable without that
// dimension. The arrays of the variable stand together among those of the source, from `first_array` on.
// Steps that run across a joint of two stores are boxes of both.
void add_boxes_of_steps(const Variable& variable, std::size_t first_array, IndexRun times, BoxTarget target,
                        std::vector<ArrayBox>& out);

// How many entries of the run lie between `begin` and `end`, in which its first one is.
std::int64_t entries_within(const IndexRun& run, std::int64_t begin, std::int64_t end);

}  // namespace penstock
