#include "source/patches/patch_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine.h"
#include "base/random.h"

namespace penstock {
namespace {

constexpr std::uint64_t kVisitsAnEpoch = 64;  // at least: an epoch must see many places
constexpr std::uint64_t kFewestAVisit = 4, kMostAVisit = 32;
constexpr int kTries = 400;  // to find a patch with enough foreground in a region

}  // namespace

Result<std::unique_ptr<const PatchDraws>> PatchDraws::make(const PatchVolumes& volumes,
                                                           const PatchOptions& options) {
  if (!(options.min_foreground >= 0 && options.min_foreground <= 1))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("min_foreground={}: a share from 0 to 1", options.min_foreground));
  std::unique_ptr<PatchDraws> draws(new PatchDraws(volumes));
  draws->per_epoch_ = options.per_epoch;
  draws->per_visit_ = std::clamp(options.per_epoch / kVisitsAnEpoch, kFewestAVisit, kMostAVisit);
  draws->divide();
  if (options.min_foreground > 0) PENSTOCK_CHECK(draws->find_foreground(options));
  return draws;
}

void PatchDraws::divide() {
  const Shape& patch = volumes_.patch();
  for (const PatchVolume& volume : volumes_.volumes()) {
    const Shape& chunk = volumes_.arrays()[volume.image]->chunk_shape();
    Shape edge(patch.size());
    for (std::size_t d = 0; d < patch.size(); ++d)
      edge[d] = std::max<std::int64_t>(1, std::max(patch[d], chunk[chunk.size() - patch.size() + d]) / 2);
    first_region_.push_back(regions_);
    regions_ += volume.grid.regions(edge);
    edges_.push_back(std::move(edge));
  }
}

Status PatchDraws::find_foreground(const PatchOptions& options) {
  double elements = 1;
  for (const std::int64_t extent : volumes_.patch()) elements *= static_cast<double>(extent);
  least_foreground_ =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(options.min_foreground * elements)));
  for (const PatchVolume& volume : volumes_.volumes()) {
    ForegroundOptions how;
    how.axes = static_cast<int>(volumes_.patch().size());
    how.threads = static_cast<int>(usable_cpus());
    if (options.progress)
      how.progress = [&](std::uint64_t done, std::uint64_t) { return options.progress(done); };
    auto map = ForegroundMap::make(*volumes_.arrays()[volume.label], how);
    if (!map) return std::unexpected(std::move(map).error());
    foreground_.push_back(std::move(*map));
  }
  for (std::uint64_t region = 0; region < regions_; ++region)
    if (const auto sample = try_draw(region, mix64(region))) live_.push_back({region, *sample});
  if (live_.empty())
    return fail(
        ErrorCode::kNotFound,
        fmt::format("no patch was found with min_foreground={} of its labels not 0", options.min_foreground),
        {volumes_.arrays()[volumes_.volumes().front().label]->uri(), -1, -1, -1});
  return {};
}

bool PatchDraws::has_foreground(std::size_t volume, const Shape& origin) const {
  return foreground_.empty() || foreground_[volume].count(origin, volumes_.patch()) >= least_foreground_;
}

std::optional<std::uint64_t> PatchDraws::try_draw(std::uint64_t number, std::uint64_t key) const {
  const auto after = std::ranges::upper_bound(first_region_, number);
  const auto v = static_cast<std::size_t>(after - first_region_.begin()) - 1;
  const PatchVolume& volume = volumes_.volumes()[v];
  const PatchGrid::Region region = volume.grid.region(number - first_region_[v], edges_[v]);
  Draws draws(key, 0, 0);
  Shape origin(region.first.size());
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (std::size_t d = 0; d < origin.size(); ++d)
      origin[d] = region.first[d] +
                  static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(region.size[d])));
    if (has_foreground(v, origin)) return volume.first_sample + volume.grid.number_of(origin);
  }
  return std::nullopt;
}

std::uint64_t PatchDraws::draw(std::uint64_t region, std::uint64_t key) const {
  if (live_.empty()) return *try_draw(region, key);  // every place will do
  const Live& live = live_[region];
  return try_draw(live.region, key).value_or(live.sample);
}

}  // namespace penstock
