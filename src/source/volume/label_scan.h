// Finds the voxels that have certain labels, by reading a label array once, chunk by chunk, with several threads.
#pragma once

#include <functional>
#include <vector>

#include "source/chunked_array.h"
#include "source/volume/voxel_set.h"

namespace penstock {

struct LabelScanOptions {
  int axes = 3;  // 1 to 3: the last axes, which are those of a patch; the axes before them have one entry
  int threads = 4;  // readers and decoders
  std::uint64_t working_bytes = std::uint64_t{512} << 20;  // for the chunks in progress
  // Called from time to time on the calling thread with the number of finished chunks and of all chunks.
  // Returning false stops the scan with kStopped.
  std::function<bool(std::uint64_t done, std::uint64_t all)> progress = {};
};

// The voxels whose label is not 0. A missing chunk has the fill value; -0.0 counts as 0, NaN does not.
Result<VoxelSet> voxels_not_zero(const ChunkedArray& labels, SetMemory& memory,
                                 const LabelScanOptions& options);

// One set per value, in the order of `values`: the voxels with that label.
Result<std::vector<VoxelSet>> voxels_by_value(const ChunkedArray& labels,
                                              const std::vector<std::int64_t>& values, SetMemory& memory,
                                              const LabelScanOptions& options);

}  // namespace penstock
