#include "source/patches/patch_volumes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked_math.h"

namespace penstock {
namespace {

std::unexpected<Error> bad_option(std::string message, const std::string& uri = {}) {
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
  if (size.empty() || size.size() > kMostAxes)
    return bad_option(fmt::format("size={}: an extent for each axis of a patch", size));
  for (const std::int64_t extent : size)
    if (extent < 1) return bad_option(fmt::format("size={}: extents are at least 1", size));
  if (!options.overlap.empty() && options.overlap.size() != size.size())
    return bad_option(
        fmt::format("overlap={}: one for each of the {} axes of a patch", options.overlap, size.size()));
  for (std::size_t d = 0; d < options.overlap.size(); ++d)
    if (options.overlap[d] < 0 || options.overlap[d] >= size[d])
      return bad_option(fmt::format("overlap={}: from 0 to less than size={}", options.overlap, size));
  return {};
}

// Every volume of a kind must look like the first.
Status check_alike(const ChunkedArray& first, const ChunkedArray& other, std::size_t axes) {
  if (first.spec().dtype != other.spec().dtype)
    return bad_option(fmt::format("{}, where {} is {}", name_of(other.spec().dtype), first.uri(),
                                  name_of(first.spec().dtype)),
                      other.uri());
  if (lead_of(first.spec().shape, axes) != lead_of(other.spec().shape, axes))
    return bad_option(fmt::format("shape {}, where {} has {}: axes before those of a patch must agree",
                                  other.spec().shape, first.uri(), first.spec().shape),
                      other.uri());
  return {};
}

}  // namespace

Result<PatchVolumes> PatchVolumes::make(std::vector<ChunkedArrayPtr> images,
                                        std::vector<ChunkedArrayPtr> labels, const PatchOptions& options) {
  PENSTOCK_CHECK(check_size(options));
  if (images.empty()) return bad_option("no volumes");
  if (!labels.empty() && labels.size() != images.size())
    return bad_option(fmt::format("{} volumes and {} label volumes", images.size(), labels.size()));
  PatchVolumes volumes;
  volumes.patch_ = options.size;
  const std::size_t axes = options.size.size();
  const Shape overlap = options.overlap.empty() ? Shape(axes, 0) : options.overlap;
  for (const auto* kind : {&images, &labels})
    for (const ChunkedArrayPtr& array : *kind) {
      const Shape& shape = array->spec().shape;
      if (shape.size() < axes)
        return bad_option(
            fmt::format("a volume of shape {} has fewer axes than size={}", shape, options.size),
            array->uri());
      PENSTOCK_CHECK(check_alike(*kind->front(), *array, axes));
      const Shape extent = tail_of(shape, axes);
      for (std::size_t d = 0; d < axes; ++d)
        if (extent[d] < options.size[d])
          return bad_option(fmt::format("a volume of shape {} is smaller than size={}", shape, options.size),
                            array->uri());
    }
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Shape extent = tail_of(images[i]->spec().shape, axes);
    if (!labels.empty() && tail_of(labels[i]->spec().shape, axes) != extent)
      return bad_option(fmt::format("labels of shape {} for a volume of shape {} ({})",
                                    labels[i]->spec().shape, images[i]->spec().shape, images[i]->uri()),
                        labels[i]->uri());
    PatchVolume volume;
    volume.image = i;
    volume.label = labels.empty() ? 0 : images.size() + i;
    volume.grid = options.per_epoch > 0 ? PatchGrid::everywhere(extent, options.size)
                                        : PatchGrid::covering(extent, options.size, overlap);
    volume.first_sample = volumes.size_;
    const auto sum = checked_add(volumes.size_, volume.grid.size());
    if (!sum) return bad_option("more places for patches than can be counted", images[i]->uri());
    volumes.size_ = *sum;
    volumes.volumes_.push_back(std::move(volume));
  }
  volumes.arrays_ = std::move(images);
  std::ranges::move(labels, std::back_inserter(volumes.arrays_));
  return volumes;
}

const PatchVolume& PatchVolumes::volume_of(std::uint64_t sample) const {
  return *std::prev(std::ranges::upper_bound(volumes_, sample, {}, &PatchVolume::first_sample));
}

Shape PatchVolumes::origin_of(std::uint64_t sample) const {
  const PatchVolume& volume = volume_of(sample);
  return volume.grid.origin(sample - volume.first_sample);
}

ArraySpec PatchVolumes::sample_spec(bool of_labels) const {
  const ChunkedArray& array = *arrays_[of_labels ? volumes_.front().label : volumes_.front().image];
  ArraySpec spec{array.spec().dtype, lead_of(array.spec().shape, patch_.size())};
  spec.shape.insert(spec.shape.end(), patch_.begin(), patch_.end());
  return spec;
}

}  // namespace penstock
