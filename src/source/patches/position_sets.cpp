#include "source/patches/position_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine.h"
#include "base/memory/opening_memory.h"
#include "penstock/interruption.h"
#include "source/volume/label_scan.h"
#include "source/patches/foreground_positions.h"

namespace penstock {
namespace {

constexpr std::uint64_t kPositionsPerStopCheck = 1 << 16;  // positions of a grid between two checks for a stop

class PositionFinder {
 public:
  PositionFinder(const PatchVolumes& volumes, const PatchOptions& options)
      : volumes_(volumes),
        options_(options) {
    scan_.axes = static_cast<int>(volumes.patch().size());
    scan_.threads = static_cast<int>(usable_cpus());
    if (options.progress)
      scan_.progress = [this](std::uint64_t done, std::uint64_t) {
        chunks_done_ = done;
        return options_.progress(done);
      };
  }

  Result<std::vector<PositionSet>> sets_to_draw_from() {
    std::vector<PositionSet> sets;
    for (std::size_t number = 0; number < volumes_.volumes().size(); ++number) {
      auto allowed = allowed_centres(volumes_.volumes()[number]);
      if (!allowed) return std::unexpected(std::move(allowed).error());
      if (options_.class_weights.empty()) {
        sets.push_back({number, 0, std::move(*allowed)});
        continue;
      }
      PENSTOCK_CHECK(add_classes(number, *allowed, sets));
    }
    return sets;
  }

  Result<std::vector<std::vector<std::uint64_t>>> positions_in_masks() {
    std::vector<std::vector<std::uint64_t>> selected;
    std::uint64_t all = 0;
    for (const PatchVolume& volume : volumes_.volumes()) {
      const auto mask = voxels_not_zero(*volume.mask, memory_, scan_);
      if (!mask) return std::unexpected(mask.error());
      std::vector<std::uint64_t>& mine = selected.emplace_back();
      for (std::uint64_t position = 0; position < volume.grid.size(); ++position) {
        if (position % kPositionsPerStopCheck == 0 && !goes_on())
          return fail(ErrorCode::kStopped, "looking for patches in the mask was stopped",
                      {volume.mask->uri(), -1, -1, -1});
        if (mask->count(volume.grid.origin(position), volumes_.patch()) == 0) continue;
        if (++all > kMaxPositionsListed)
          return fail(ErrorCode::kTooLarge,
                      fmt::format("more than {} patches in the mask", kMaxPositionsListed),
                      {volume.mask->uri(), -1, -1, -1});
        mine.push_back(position);
      }
      memory_.give_back(mask->bytes());
    }
    if (all == 0)
      return fail(ErrorCode::kNotFound, "the mask is 0 wherever patches may lie",
                  {volumes_.volumes().front().mask->uri(), -1, -1, -1});
    return selected;
  }

 private:
  bool goes_on() const {
    return !Interruption::is_requested() && (!options_.progress || options_.progress(chunks_done_));
  }
  const ChunkedArray& label_of(const PatchVolume& volume) const { return *volumes_.arrays()[volume.label]; }

  // The positions that the mask and the minimum of foreground allow; nullopt if neither is given.
  Result<std::optional<VoxelSet>> allowed_centres(const PatchVolume& volume) {
    std::optional<VoxelSet> allowed;
    if (volume.mask) {
      auto mask = voxels_not_zero(*volume.mask, memory_, scan_);
      if (!mask) return std::unexpected(std::move(mask).error());
      allowed = std::move(*mask);
    }
    if (options_.min_foreground > 0) {
      auto enough = centres_with_enough(volume);
      if (!enough) return std::unexpected(std::move(enough).error());
      if (allowed) {
        PENSTOCK_CHECK(enough->intersect(*allowed, memory_, volume.mask->uri()));
        memory_.give_back(allowed->bytes());
      }
      allowed = std::move(*enough);
    }
    return allowed;
  }

  Result<VoxelSet> centres_with_enough(const PatchVolume& volume) {
    const ChunkedArray& labels = label_of(volume);
    const auto foreground = voxels_not_zero(labels, memory_, scan_);
    if (!foreground) return std::unexpected(foreground.error());
    const Shape& shape = labels.spec().shape;
    const Shape& patch = volumes_.patch();
    double elements = 1;
    for (const std::int64_t extent : patch) elements *= static_cast<double>(extent);
    ForegroundRule rule{patch, volume.grid.first(), volume.grid.last()};
    rule.least =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(options_.min_foreground * elements)));
    rule.threads = scan_.threads;
    rule.goes_on = [this] { return goes_on(); };
    auto centres = centres_with_foreground(*foreground, Shape(shape.end() - std::ssize(patch), shape.end()),
                                           rule, memory_, labels.uri());
    memory_.give_back(foreground->bytes());
    return centres;
  }

  Status add_classes(std::size_t number, const std::optional<VoxelSet>& allowed,
                     std::vector<PositionSet>& sets) {
    const ChunkedArray& labels = label_of(volumes_.volumes()[number]);
    std::vector<std::int64_t> values;
    for (const auto& [value, weight] : options_.class_weights) values.push_back(value);
    auto classes = voxels_by_value(labels, values, memory_, scan_);
    if (!classes) return std::unexpected(std::move(classes).error());
    for (std::size_t i = 0; i < classes->size(); ++i) {
      if (allowed) PENSTOCK_CHECK((*classes)[i].intersect(*allowed, memory_, labels.uri()));
      sets.push_back({number, i, std::move((*classes)[i])});
    }
    if (allowed) memory_.give_back(allowed->bytes());
    return {};
  }

  const PatchVolumes& volumes_;
  const PatchOptions& options_;
  LabelScanOptions scan_;
  // A small file may claim a volume of any size, so the sets are also limited to half of the memory budget of
  // opening.
  SetMemory memory_{std::min(kMaxSetBytes, OpeningMemory::at_most(UINT64_MAX) / 2)};
  std::uint64_t chunks_done_ = 0;
};

}  // namespace

Result<std::vector<PositionSet>> find_position_sets(const PatchVolumes& volumes, const PatchOptions& options) {
  return PositionFinder(volumes, options).sets_to_draw_from();
}

Result<std::vector<std::vector<std::uint64_t>>> grid_positions_in_masks(const PatchVolumes& volumes,
                                                                     const PatchOptions& options) {
  return PositionFinder(volumes, options).positions_in_masks();
}

}  // namespace penstock
