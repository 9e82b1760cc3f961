// Where a patch would have enough foreground, found exactly for every place.
//
// The number of foreground voxels in a patch is a sum over a box. Boxes of neighbouring places overlap,
// so the sums are carried along each axis instead of being counted anew: a place costs about fifty
// additions, whatever the size of the patch. Parts of the volume where no place or every place has
// enough are recognised by one count each.
#pragma once

#include <functional>

#include "source/volume/voxel_set.h"

namespace penstock {

struct ForegroundRule {
  Shape patch;              // 1 to 3 axes, as the set of labels has
  Shape first, last;        // the origins to look at: from the first to the last, both included
  std::uint64_t least = 1;  // foreground voxels of a patch
  int threads = 1;
  // Called now and then on the calling thread; false stops (kStopped).
  std::function<bool()> goes_on = {};
};

// Patches are told by their centre, origin + size / 2, so that the result can be intersected with sets of
// voxels: a voxel is in the set where the patch around it has enough. `uri` is for messages.
Result<VoxelSet> centres_with_foreground(const VoxelSet& labels, const Shape& volume,
                                         const ForegroundRule& rule, SetMemory& memory,
                                         const std::string& uri);

}  // namespace penstock
