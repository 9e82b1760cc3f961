#include "source/patches/patch_volumes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/text/public_uri.h"
#include "source/array_box.h"

namespace penstock {
namespace {

std::unexpected<Error> bad_volume_option(std::string message, const std::string& uri = {}) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), {uri, -1, -1, -1});
}

Shape tail_of(const Shape& shape, std::size_t axes) {
  return {shape.end() - static_cast<std::ptrdiff_t>(axes), shape.end()};
}

Shape lead_of(const Shape& shape, std::size_t axes) {
  return {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(axes)};
}

Status check_size(const PatchOptions& options) {
  const Shape& size = options.size;
  if (size.empty() || size.size() > kMaxAxes)
    return bad_volume_option(fmt::format("size={}: an extent for each axis of a patch", size));
  for (const std::int64_t extent : size)
    if (extent < 1) return bad_volume_option(fmt::format("size={}: extents are at least 1", size));
  if (!options.overlap.empty() && options.overlap.size() != size.size())
    return bad_volume_option(
        fmt::format("overlap={}: one for each of the {} axes of a patch", options.overlap, size.size()));
  for (std::size_t d = 0; d < options.overlap.size(); ++d)
    if (options.overlap[d] < 0 || options.overlap[d] >= size[d])
      return bad_volume_option(fmt::format("overlap={}: from 0 to less than size={}", options.overlap, size));
  return {};
}

// Compares a volume with the first one: type and leading axes must be equal.
Status check_alike(const Volume& first, const Volume& other, std::size_t axes) {
  if (first.dtype() != other.dtype())
    return bad_volume_option(
        fmt::format("{}, where {} is {}", name_of(other.dtype()), without_secrets(first.array->uri()),
                    name_of(first.dtype())),
        other.array->uri());
  const Shape &first_shape = first.array->spec().shape, &other_shape = other.array->spec().shape;
  if (lead_of(first_shape, axes) != lead_of(other_shape, axes))
    return bad_volume_option(fmt::format("shape {}, where {} has {}: axes before those of a patch must agree",
                                  other_shape, without_secrets(first.array->uri()), first_shape),
                      other.array->uri());
  return {};
}

// "a volume of shape [30, 2, 512, 512] (axes ZCYX)".
std::string describe(const ChunkedArray& array) {
  const std::string axes = array.axes();
  return fmt::format("a volume of shape {}{}", array.spec().shape,
                     axes.empty() ? "" : fmt::format(" (axes {})", axes));
}

Status check_fits(const ChunkedArray& array, const Shape& size) {
  const Shape& shape = array.spec().shape;
  if (shape.size() < size.size())
    return bad_volume_option(fmt::format("{} has fewer axes than size={}", describe(array), size), array.uri());
  const Shape extent = tail_of(shape, size.size());
  for (std::size_t d = 0; d < size.size(); ++d)
    if (extent[d] < size[d])
      return bad_volume_option(fmt::format("{} is smaller than size={}, which is for its last {} axes",
                                    describe(array), size, size.size()),
                        array.uri());
  return {};
}

struct Bounds {
  Shape begin, end;
};

// The region within a volume of this extent, clamped to its ends as Python's slices are.
Result<Bounds> bounds_of(const Shape& extent, const PatchOptions& options, const std::string& uri) {
  const std::size_t axes = options.size.size();
  Bounds bounds{Shape(axes, 0), extent};
  if (options.region.empty()) return bounds;
  if (options.region.size() != axes)
    return bad_volume_option(fmt::format("region has {} ranges; it wants one for each of the {} axes of a patch",
                                  options.region.size(), axes));
  for (std::size_t d = 0; d < axes; ++d) {
    const auto clamped = [&](std::int64_t end) {
      return std::clamp<std::int64_t>(end < 0 ? end + extent[d] : end, 0, extent[d]);
    };
    bounds.begin[d] = clamped(options.region[d].begin);
    bounds.end[d] = clamped(options.region[d].end);
    if (bounds.end[d] - bounds.begin[d] < options.size[d])
      return bad_volume_option(fmt::format("the region has {} elements of axis {} (from {} to {} of {}), and a patch "
                                    "of size={} does not fit",
                                    std::max<std::int64_t>(0, bounds.end[d] - bounds.begin[d]), d,
                                    bounds.begin[d], bounds.end[d], extent[d], options.size),
                        uri);
  }
  return bounds;
}

}  // namespace

Result<PatchVolumes> PatchVolumes::make(const std::vector<Volume>& images, const std::vector<Volume>& labels,
                                        const std::vector<Volume>& masks, const PatchOptions& options) {
  PENSTOCK_CHECK(check_size(options));
  if (images.empty()) return bad_volume_option("no volumes");
  if (!labels.empty() && labels.size() != images.size())
    return bad_volume_option(fmt::format("{} volumes and {} label volumes", images.size(), labels.size()));
  if (masks.size() > 1 && masks.size() != images.size())
    return bad_volume_option(
        fmt::format("{} volumes and {} masks; give one mask for all, or one each", images.size(), masks.size()));
  PatchVolumes volumes;
  volumes.patch_ = options.size;
  volumes.image_type_ = images.front().dtype();
  volumes.image_axes_ = images.front().axes;
  if (!labels.empty()) {
    volumes.label_type_ = labels.front().dtype();
    volumes.label_axes_ = labels.front().axes;
  }
  const std::size_t axes = options.size.size();
  const Shape overlap = options.overlap.empty() ? Shape(axes, 0) : options.overlap;
  for (const auto* kind : {&images, &labels})
    for (const Volume& volume : *kind) {
      PENSTOCK_CHECK(check_fits(*volume.array, options.size));
      PENSTOCK_CHECK(check_alike(kind->front(), volume, axes));
      volumes.arrays_.push_back(volume.array);
      volumes.codings_.push_back(volume.coding);
    }
  for (std::size_t i = 0; i < images.size(); ++i) {
    const ChunkedArray& image = *images[i].array;
    const Shape extent = tail_of(image.spec().shape, axes);
    const auto check_extent = [&](const ChunkedArray& other, const char* what) -> Status {
      const Shape& shape = other.spec().shape;
      if (shape.size() >= axes && tail_of(shape, axes) == extent) return {};
      return bad_volume_option(fmt::format("{} of shape {} for a volume of shape {} ({})", what, shape,
                                    image.spec().shape, without_secrets(image.uri())),
                        other.uri());
    };
    PatchVolume volume;
    volume.image = i;
    if (!labels.empty()) {
      volume.label = images.size() + i;
      PENSTOCK_CHECK(check_extent(*labels[i].array, "labels"));
    }
    if (!masks.empty()) {
      volume.mask = masks[masks.size() == 1 ? 0 : i].array;
      PENSTOCK_CHECK(check_extent(*volume.mask, "a mask"));
    }
    const auto bounds = bounds_of(extent, options, image.uri());
    if (!bounds) return std::unexpected(bounds.error());
    volume.grid = options.per_epoch > 0
                      ? PatchGrid::everywhere(bounds->begin, bounds->end, options.size)
                      : PatchGrid::covering(bounds->begin, bounds->end, options.size, overlap);
    volume.first_sample = volumes.size_;
    const auto sum = checked_add(volumes.size_, volume.grid.size());
    if (!sum) return bad_volume_option("more positions for patches than can be counted", image.uri());
    volumes.size_ = *sum;
    volumes.volumes_.push_back(std::move(volume));
  }
  return volumes;
}

void PatchVolumes::select_positions(std::vector<std::vector<std::uint64_t>> selected) {
  size_ = 0;
  for (std::size_t i = 0; i < volumes_.size(); ++i) {
    volumes_[i].is_filtered = true;
    volumes_[i].selected = std::move(selected[i]);
    volumes_[i].first_sample = size_;
    size_ += volumes_[i].positions();
  }
}

const PatchVolume& PatchVolumes::volume_of(std::uint64_t sample) const {
  return *std::prev(std::ranges::upper_bound(volumes_, sample, {}, &PatchVolume::first_sample));
}

Shape PatchVolumes::origin_of(std::uint64_t sample) const {
  const PatchVolume& volume = volume_of(sample);
  const std::uint64_t position = sample - volume.first_sample;
  return volume.grid.origin(volume.is_filtered ? volume.selected[position] : position);
}

ArraySpec PatchVolumes::sample_spec(bool of_labels) const {
  const ChunkedArray& array = *arrays_[of_labels ? volumes_.front().label : volumes_.front().image];
  ArraySpec spec{of_labels ? label_type_ : image_type_, lead_of(array.spec().shape, patch_.size())};
  spec.shape.insert(spec.shape.end(), patch_.begin(), patch_.end());
  return spec;
}

}  // namespace penstock
