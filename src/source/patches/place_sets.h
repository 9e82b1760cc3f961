// Which places of the volumes patches may be taken from, where labels or masks decide that.
//
// Reads labels and masks once, with several threads. What is kept takes at most kMaxSetBytes for all
// volumes together (see VoxelSet); more is kTooLarge.
#pragma once

#include <optional>
#include <vector>

#include "source/patches/patch_volumes.h"
#include "source/volume/voxel_set.h"

namespace penstock {

constexpr std::uint64_t kMaxSetBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxPlacesListed = std::uint64_t{1} << 27;  // 1 GiB

// Places that are drawn with the same probability: those of a volume, or of one class in a volume.
struct PlaceSet {
  std::size_t volume = 0;
  std::size_t class_number = 0;     // in PatchOptions::class_weights
  std::optional<VoxelSet> centres;  // of the patches; nothing: all places of the volume's grid
};

// For random patches: one set per volume, or one per volume and class of options.class_weights.
Result<std::vector<PlaceSet>> find_place_sets(const PatchVolumes& volumes, const PatchOptions& options);

// For a grid: by volume, the numbers of those places whose patch has a voxel of the mask.
Result<std::vector<std::vector<std::uint64_t>>> grid_places_in_masks(const PatchVolumes& volumes,
                                                                     const PatchOptions& options);

}  // namespace penstock
