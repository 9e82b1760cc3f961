// The volumes that patches are cut from, and the places where patches can begin, counted through
// all of them: sample k is the k-th place.
#pragma once

#include <string>
#include <vector>

#include "penstock/arrays.h"
#include "source/chunked_array.h"
#include "source/patches/patch_grid.h"

namespace penstock {

struct PatchVolume {
  std::size_t image = 0;  // in the arrays
  std::size_t label = 0;  // likewise, where there are labels
  PatchGrid grid;
  std::uint64_t first_sample = 0;
};

class PatchVolumes {
 public:
  // Fails where volumes are smaller than a patch, or differ in type or in their leading axes.
  static Result<PatchVolumes> make(std::vector<ChunkedArrayPtr> images, std::vector<ChunkedArrayPtr> labels,
                                   const PatchOptions& options);

  std::uint64_t size() const { return size_; }
  const std::vector<ChunkedArrayPtr>& arrays() const { return arrays_; }
  const std::vector<PatchVolume>& volumes() const { return volumes_; }
  const PatchVolume& volume_of(std::uint64_t sample) const;
  std::size_t number_of(const PatchVolume& volume) const {
    return static_cast<std::size_t>(&volume - volumes_.data());
  }
  // Along the axes of a patch.
  Shape origin_of(std::uint64_t sample) const;
  const Shape& patch() const { return patch_; }
  // Of a patch of images or labels: leading axes whole, then the patch.
  ArraySpec sample_spec(bool of_labels) const;

 private:
  std::vector<ChunkedArrayPtr> arrays_;
  std::vector<PatchVolume> volumes_;
  Shape patch_;
  std::uint64_t size_ = 0;
};

}  // namespace penstock
