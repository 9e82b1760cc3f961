// Reads a label array once, chunk by chunk with several threads, and notes which voxels have which labels.
#pragma once

#include <functional>
#include <vector>

#include "source/chunked_array.h"
#include "source/volume/voxel_set.h"

namespace penstock {

struct LabelScanOptions {
  int axes = 3;     // the last ones, 1 to 3: those of a patch; axes before them have one entry
  int threads = 4;  // that read and decode
  std::uint64_t working_bytes = std::uint64_t{512} << 20;  // for chunks while they are looked through
  // Called now and then on the calling thread: so many of all chunks are done. False stops (kStopped).
  std::function<bool(std::uint64_t done, std::uint64_t all)> progress = {};
};

// The voxels whose label is not 0. Missing chunks have the fill value. -0.0 is 0, and NaN is not.
Result<VoxelSet> voxels_not_zero(const ChunkedArray& labels, SetMemory& memory,
                                 const LabelScanOptions& options);

// One set per value, in the order of `values`: the voxels that have it.
Result<std::vector<VoxelSet>> voxels_by_value(const ChunkedArray& labels,
                                              const std::vector<std::int64_t>& values, SetMemory& memory,
                                              const LabelScanOptions& options);

}  // namespace penstock
