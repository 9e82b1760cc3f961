// Finds all positions at which a patch has enough foreground.
//
// The number of foreground voxels in a patch is a sum over a box. The boxes of neighbouring positions overlap, so
// the sums are updated along each axis instead of being computed anew. A position costs about fifty additions,
// regardless of the size of the patch. Parts of the volume in which no position or every position has enough
// foreground are recognised by a single count.
#pragma once

#include <functional>

#include "source/volume/voxel_set.h"

namespace penstock {

struct ForegroundRule {
  Shape patch;  // 1 to 3 axes, like the set of labels
  Shape first, last;  // the first and the last origin to examine, both included
  std::uint64_t least = 1;  // the minimum number of foreground voxels in a patch
  int threads = 1;
  // Called from time to time on the calling thread; returning false stops the search with kStopped.
  std::function<bool()> goes_on = {};
};

// A patch is represented by its centre, origin + size / 2, so that the result can be intersected with sets of
// voxels: a voxel is in the set if the patch around it has enough foreground. `uri` is for messages.
Result<VoxelSet> centres_with_foreground(const VoxelSet& labels, const Shape& volume,
                                         const ForegroundRule& rule, SetMemory& memory,
                                         const std::string& uri);

}  // namespace penstock
