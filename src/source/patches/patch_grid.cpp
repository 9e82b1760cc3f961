#include "source/patches/patch_grid.h"

#include <algorithm>

namespace penstock {
namespace {

std::int64_t parts_of(std::int64_t count, std::int64_t edge) {
  return std::max<std::int64_t>(1, (count + edge / 2) / std::max<std::int64_t>(edge, 1));
}

// Divides a run of `count` origins into `parts` parts, of which the longer ones come first.
struct Parts {
  std::int64_t count, parts;

  std::int64_t begin(std::int64_t part) const { return count / parts * part + std::min(part, count % parts); }
  std::int64_t size(std::int64_t part) const { return count / parts + (part < count % parts ? 1 : 0); }
  std::int64_t part_of(std::int64_t at) const {
    const std::int64_t small = count / parts, longer = count % parts;
    const std::int64_t in_longer = longer * (small + 1);
    return at < in_longer ? at / (small + 1) : longer + (at - in_longer) / small;
  }
};

}  // namespace

PatchGrid PatchGrid::everywhere(const Shape& begin, const Shape& end, const Shape& patch) {
  PatchGrid grid;
  grid.first_ = begin;
  grid.size_ = 1;
  for (std::size_t d = 0; d < patch.size(); ++d) {
    grid.last_.push_back(end[d] - patch[d]);
    grid.counts_.push_back(end[d] - patch[d] - begin[d] + 1);
    grid.step_.push_back(1);
    grid.size_ *= static_cast<std::uint64_t>(grid.counts_.back());
  }
  return grid;
}

PatchGrid PatchGrid::covering(const Shape& begin, const Shape& end, const Shape& patch,
                              const Shape& overlap) {
  PatchGrid grid;
  grid.first_ = begin;
  grid.size_ = 1;
  for (std::size_t d = 0; d < patch.size(); ++d) {
    const std::int64_t step = patch[d] - overlap[d], last = end[d] - patch[d];
    grid.last_.push_back(last);
    grid.step_.push_back(step);
    grid.counts_.push_back((last - begin[d] + step - 1) / step + 1);
    grid.size_ *= static_cast<std::uint64_t>(grid.counts_.back());
  }
  return grid;
}

Shape PatchGrid::origin(std::uint64_t number) const {
  Shape origin(counts_.size());
  for (std::size_t d = counts_.size(); d-- > 0;) {
    const auto count = static_cast<std::uint64_t>(counts_[d]);
    origin[d] = std::min(first_[d] + static_cast<std::int64_t>(number % count) * step_[d], last_[d]);
    number /= count;
  }
  return origin;
}

std::uint64_t PatchGrid::number_of(const Shape& origin) const {
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < counts_.size(); ++d)
    number =
        number * static_cast<std::uint64_t>(counts_[d]) + static_cast<std::uint64_t>(origin[d] - first_[d]);
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
    region.first[d] = first_[d] + Parts{counts_[d], parts}.begin(part);
    region.size[d] = Parts{counts_[d], parts}.size(part);
  }
  return region;
}

PatchGrid::Region PatchGrid::region_at(std::uint64_t rank, const Shape& edge) const {
  Region region{Shape(counts_.size()), Shape(counts_.size())};
  // Number of origins along later axes; number of origins in the parts chosen so far.
  std::uint64_t behind = size_, across = 1;
  for (std::size_t d = 0; d < counts_.size(); ++d) {
    behind /= static_cast<std::uint64_t>(counts_[d]);
    const Parts parts{counts_[d], parts_of(counts_[d], edge[d])};
    const std::int64_t part = parts.part_of(static_cast<std::int64_t>(rank / (across * behind)));
    rank -= across * behind * static_cast<std::uint64_t>(parts.begin(part));
    region.first[d] = first_[d] + parts.begin(part);
    region.size[d] = parts.size(part);
    across *= static_cast<std::uint64_t>(region.size[d]);
  }
  return region;
}

}  // namespace penstock
