#include "source/patches/patch_grid.h"

#include <algorithm>

namespace penstock {
namespace {

std::int64_t parts_of(std::int64_t count, std::int64_t edge) {
  return std::max<std::int64_t>(1, (count + edge / 2) / std::max<std::int64_t>(edge, 1));
}

}  // namespace

PatchGrid PatchGrid::everywhere(const Shape& volume, const Shape& patch) {
  PatchGrid grid;
  grid.size_ = 1;
  for (std::size_t d = 0; d < patch.size(); ++d) {
    grid.last_.push_back(volume[d] - patch[d]);
    grid.counts_.push_back(volume[d] - patch[d] + 1);
    grid.step_.push_back(1);
    grid.size_ *= static_cast<std::uint64_t>(grid.counts_.back());
  }
  return grid;
}

PatchGrid PatchGrid::covering(const Shape& volume, const Shape& patch, const Shape& overlap) {
  PatchGrid grid;
  grid.size_ = 1;
  for (std::size_t d = 0; d < patch.size(); ++d) {
    const std::int64_t step = patch[d] - overlap[d], last = volume[d] - patch[d];
    grid.last_.push_back(last);
    grid.step_.push_back(step);
    grid.counts_.push_back((last + step - 1) / step + 1);
    grid.size_ *= static_cast<std::uint64_t>(grid.counts_.back());
  }
  return grid;
}

Shape PatchGrid::origin(std::uint64_t number) const {
  Shape origin(counts_.size());
  for (std::size_t d = counts_.size(); d-- > 0;) {
    const auto count = static_cast<std::uint64_t>(counts_[d]);
    origin[d] = std::min(static_cast<std::int64_t>(number % count) * step_[d], last_[d]);
    number /= count;
  }
  return origin;
}

std::uint64_t PatchGrid::number_of(const Shape& origin) const {
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < counts_.size(); ++d)
    number = number * static_cast<std::uint64_t>(counts_[d]) + static_cast<std::uint64_t>(origin[d]);
  return number;
}

std::uint64_t PatchGrid::regions(const Shape& edge) const {
  std::uint64_t regions = 1;
  for (std::size_t d = 0; d < counts_.size(); ++d)
    regions *= static_cast<std::uint64_t>(parts_of(counts_[d], edge[d]));
  return regions;
}

PatchGrid::Region PatchGrid::region(std::uint64_t number, const Shape& edge) const {
  Region region{Shape(counts_.size()), Shape(counts_.size())};
  for (std::size_t d = counts_.size(); d-- > 0;) {
    const std::int64_t parts = parts_of(counts_[d], edge[d]);
    const auto part = static_cast<std::int64_t>(number % static_cast<std::uint64_t>(parts));
    number /= static_cast<std::uint64_t>(parts);
    region.first[d] = counts_[d] / parts * part + std::min(part, counts_[d] % parts);
    region.size[d] = counts_[d] / parts + (part < counts_[d] % parts ? 1 : 0);
  }
  return region;
}

}  // namespace penstock
