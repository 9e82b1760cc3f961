// The volumes that patches are cut from, and the positions at which patches can begin. Positions are numbered
// through all volumes: sample k is position k.
//
// Owned by its source. Immutable after opening, and then thread-safe.
#pragma once

#include <string>
#include <vector>

#include "penstock/source.h"
#include "source/patches/open_volume.h"
#include "source/patches/patch_grid.h"

namespace penstock {

struct PatchVolume {
  std::size_t image = 0;  // position in the arrays
  std::size_t label = 0;  // position in the arrays, if there are labels
  ChunkedArrayPtr mask;   // nullptr: none
  PatchGrid grid;
  bool is_filtered = false;  // only the positions in `selected` are samples
  std::vector<std::uint64_t> selected;  // numbers of grid positions
  std::uint64_t first_sample = 0;

  std::uint64_t positions() const { return is_filtered ? selected.size() : grid.size(); }
};

class PatchVolumes {
 public:
  // Fails if a volume is smaller than a patch, or if volumes differ in type or in their leading axes. A single
  // mask applies to all volumes.
  static Result<PatchVolumes> make(const std::vector<Volume>& images, const std::vector<Volume>& labels,
                                   const std::vector<Volume>& masks, const PatchOptions& options);

  // Restricts the samples to these positions, given per volume as numbers of its grid. Called while the source
  // is opened.
  void select_positions(std::vector<std::vector<std::uint64_t>> selected);

  std::uint64_t size() const { return size_; }
  const std::vector<ChunkedArrayPtr>& arrays() const { return arrays_; }
  const std::vector<PatchVolume>& volumes() const { return volumes_; }
  // nullptr: values of the array are delivered as they are stored.
  const ValueCoding* coding_of(std::size_t array) const { return codings_[array].get(); }
  const PatchVolume& volume_of(std::uint64_t sample) const;
  std::size_t number_of(const PatchVolume& volume) const {
    return static_cast<std::size_t>(&volume - volumes_.data());
  }
  // The extents of a patch.
  Shape origin_of(std::uint64_t sample) const;
  const Shape& patch() const { return patch_; }
  // The type and shape of one patch of images or labels: all leading axes, followed by those of the patch.
  ArraySpec sample_spec(bool of_labels) const;
  // The names of these axes, in the form of Volume::axes.
  const std::string& axes(bool of_labels) const { return of_labels ? label_axes_ : image_axes_; }

 private:
  std::vector<ChunkedArrayPtr> arrays_;
  std::vector<std::shared_ptr<const ValueCoding>> codings_;  // one per array
  std::vector<PatchVolume> volumes_;
  DType image_type_ = DType::kUInt8, label_type_ = DType::kUInt8;  // after decoding
  std::string image_axes_, label_axes_;
  Shape patch_;
  std::uint64_t size_ = 0;
};

}  // namespace penstock
