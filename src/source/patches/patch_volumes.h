// The volumes that patches are cut from, and the places where patches can begin, counted through
// all of them: sample k is the k-th place.
#pragma once

#include <string>
#include <vector>

#include "penstock/arrays.h"
#include "source/patches/open_volume.h"
#include "source/patches/patch_grid.h"

namespace penstock {

struct PatchVolume {
  std::size_t image = 0;  // in the arrays
  std::size_t label = 0;  // likewise, where there are labels
  ChunkedArrayPtr mask;   // nullptr: none
  PatchGrid grid;
  bool is_filtered = false;         // samples are only those places of the grid that `kept` has
  std::vector<std::uint64_t> kept;  // numbers of places of the grid
  std::uint64_t first_sample = 0;

  std::uint64_t places() const { return is_filtered ? kept.size() : grid.size(); }
};

class PatchVolumes {
 public:
  // Fails where volumes are smaller than a patch, or differ in type or in their leading axes. One mask may
  // serve all volumes.
  static Result<PatchVolumes> make(const std::vector<Volume>& images, const std::vector<Volume>& labels,
                                   const std::vector<Volume>& masks, const PatchOptions& options);

  // Keeps only these places of each volume's grid.
  void keep_places(std::vector<std::vector<std::uint64_t>> kept);

  std::uint64_t size() const { return size_; }
  const std::vector<ChunkedArrayPtr>& arrays() const { return arrays_; }
  const std::vector<PatchVolume>& volumes() const { return volumes_; }
  // nullptr: values of the array are as they are stored.
  const ValueCoding* coding_of(std::size_t array) const { return codings_[array].get(); }
  const PatchVolume& volume_of(std::uint64_t sample) const;
  std::size_t number_of(const PatchVolume& volume) const {
    return static_cast<std::size_t>(&volume - volumes_.data());
  }
  // Along the axes of a patch.
  Shape origin_of(std::uint64_t sample) const;
  const Shape& patch() const { return patch_; }
  // The type and shape of one patch of images or labels: all leading axes, then the patch.
  ArraySpec sample_spec(bool of_labels) const;
  // The names of those axes, in the form that Volume keeps them.
  const std::string& axes(bool of_labels) const { return of_labels ? label_axes_ : image_axes_; }

 private:
  std::vector<ChunkedArrayPtr> arrays_;
  std::vector<std::shared_ptr<const ValueCoding>> codings_;  // of the arrays
  std::vector<PatchVolume> volumes_;
  DType image_type_ = DType::kUInt8, label_type_ = DType::kUInt8;  // decoded
  std::string image_axes_, label_axes_;
  Shape patch_;
  std::uint64_t size_ = 0;
};

}  // namespace penstock
