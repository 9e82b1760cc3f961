// The positions that patches may have where labels or masks restrict them.
//
// Reads labels and masks once, with several threads. The sets of all volumes together take at most kMaxSetBytes
// (see VoxelSet); more is kTooLarge.
#pragma once

#include <optional>
#include <vector>

#include "source/patches/patch_volumes.h"
#include "source/volume/voxel_set.h"

namespace penstock {

constexpr std::uint64_t kMaxSetBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxPositionsListed = std::uint64_t{1} << 27;  // 1 GiB

// Positions that are drawn with equal probability: all allowed ones of a volume, or those of one class in a
// volume.
struct PositionSet {
  std::size_t volume = 0;
  std::size_t class_number = 0;  // position in PatchOptions::class_weights
  std::optional<VoxelSet> centres;  // centres of the patches; nullopt: all positions of the volume's grid
};

// For random patches: one set per volume, or one per volume and class of options.class_weights.
Result<std::vector<PositionSet>> find_position_sets(const PatchVolumes& volumes, const PatchOptions& options);

// For a grid: per volume, the numbers of the positions whose patch contains a voxel of the mask.
Result<std::vector<std::vector<std::uint64_t>>> grid_positions_in_masks(const PatchVolumes& volumes,
                                                                     const PatchOptions& options);

}  // namespace penstock
