#include "source/patches/patch_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/machine.h"
#include "base/random.h"

namespace penstock {
namespace {

constexpr std::uint64_t kVisitsAnEpoch = 64;  // at least: an epoch must see many places
constexpr std::uint64_t kFewestAVisit = 4, kMostAVisit = 32;
constexpr int kTries = 1000;  // to find a patch with enough foreground in a region
constexpr std::size_t kMostParts = 64;
constexpr std::size_t kRegionsKept = 1024;  // whose parts are known; more than are mixed with one another
constexpr double kFinestWeight = 16;

Shape place_in(const PatchGrid::Region& box, Draws& draws) {
  Shape place(box.first.size());
  for (std::size_t d = 0; d < place.size(); ++d)
    place[d] = box.first[d] + static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(box.size[d])));
  return place;
}

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
  std::vector<double> places;  // of a region, by volume
  for (const PatchVolume& volume : volumes_.volumes()) {
    const Shape& chunk = volumes_.arrays()[volume.image]->chunk_shape();
    Shape edge(patch.size());
    for (std::size_t d = 0; d < patch.size(); ++d)
      edge[d] = std::max<std::int64_t>(1, std::max(patch[d], chunk[chunk.size() - patch.size() + d]) / 2);
    first_region_.push_back(regions_);
    const std::uint64_t regions = volume.grid.regions(edge);
    places.push_back(static_cast<double>(volume.grid.size()) / static_cast<double>(regions));
    regions_ += regions;
    edges_.push_back(std::move(edge));
  }
  // A region with twice the places has twice the turns.
  const double fewest = std::ranges::min(places);
  std::uint64_t divisor = 0;
  for (const double count : places) {
    weights_.push_back(static_cast<std::uint64_t>(std::llround(kFinestWeight * count / fewest)));
    divisor = std::gcd(divisor, weights_.back());
  }
  for (std::uint64_t& weight : weights_) weight /= divisor;
  turns_ = {0};
  for (std::size_t v = 0; v < weights_.size(); ++v) {
    const std::uint64_t end = v + 1 < first_region_.size() ? first_region_[v + 1] : regions_;
    turns_.push_back(turns_.back() + (end - first_region_[v]) * weights_[v]);
  }
}

std::size_t PatchDraws::volume_of(std::uint64_t region) const {
  const auto after = std::ranges::upper_bound(first_region_, region);
  return static_cast<std::size_t>(after - first_region_.begin()) - 1;
}

std::uint64_t PatchDraws::sample_at(std::size_t volume, const Shape& origin) const {
  const PatchVolume& owner = volumes_.volumes()[volume];
  return owner.first_sample + owner.grid.number_of(origin);
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
  for (std::uint64_t region = 0; region < regions_; ++region) {
    const std::size_t volume = volume_of(region);
    if (const auto place = first_place(parts_with_foreground(region, volume), volume))
      live_.push_back({region, *place});
  }
  if (live_.empty())
    return fail(
        ErrorCode::kNotFound,
        fmt::format("no patch was found with min_foreground={} of its labels not 0", options.min_foreground),
        {volumes_.arrays()[volumes_.volumes().front().label]->uri(), -1, -1, -1});
  turns_ = {0};
  for (const Live& live : live_) turns_.push_back(turns_.back() + weights_[volume_of(live.region)]);
  return {};
}

// Could any patch that begins in the box have enough? Of a box of one place: has it?
bool PatchDraws::has_foreground(const PatchGrid::Region& box, std::size_t volume) const {
  Shape reach(box.size.size());
  for (std::size_t d = 0; d < reach.size(); ++d) reach[d] = box.size[d] - 1 + volumes_.patch()[d];
  return foreground_[volume].count(box.first, reach) >= least_foreground_;
}

// Cuts the region in halves and drops those that cannot have enough, until what is left is small or many.
PatchDraws::Parts PatchDraws::parts_with_foreground(std::uint64_t number, std::size_t volume) const {
  const PatchGrid& grid = volumes_.volumes()[volume].grid;
  std::vector<PatchGrid::Region> parts = {grid.region(number - first_region_[volume], edges_[volume])};
  if (!has_foreground(parts.front(), volume)) return {};
  const auto longest = [](const PatchGrid::Region& part) { return std::ranges::max(part.size); };
  while (parts.size() < kMostParts) {
    const auto largest = std::ranges::max_element(parts, {}, longest);
    if (longest(*largest) == 1) break;
    PatchGrid::Region low = *largest, high = *largest;
    parts.erase(largest);
    const auto axis = static_cast<std::size_t>(std::ranges::max_element(low.size) - low.size.begin());
    low.size[axis] /= 2;
    high.first[axis] += low.size[axis];
    high.size[axis] -= low.size[axis];
    for (PatchGrid::Region* half : {&low, &high})
      if (has_foreground(*half, volume)) parts.push_back(std::move(*half));
    if (parts.empty()) return {};
  }
  Parts found{std::move(parts), {}};
  std::uint64_t places = 0;
  for (const PatchGrid::Region& box : found.boxes) found.ends.push_back(places += element_count(box.size));
  return found;
}

std::shared_ptr<const PatchDraws::Parts> PatchDraws::parts_of(std::uint64_t region,
                                                              std::size_t volume) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = parts_.find(region); known != parts_.end()) return known->second;
  }
  auto found = std::make_shared<const Parts>(parts_with_foreground(region, volume));
  const std::lock_guard lock(mutex_);
  if (parts_.emplace(region, found).second) oldest_.push_back(region);
  if (oldest_.size() > kRegionsKept) {
    parts_.erase(oldest_.front());
    oldest_.pop_front();
  }
  return found;
}

std::optional<std::uint64_t> PatchDraws::first_place(const Parts& parts, std::size_t volume) const {
  for (const PatchGrid::Region& part : parts.boxes) {
    PatchGrid::Region one{part.first, Shape(part.size.size(), 1)};
    for (std::uint64_t place = 0; place < element_count(part.size); ++place) {
      std::uint64_t rest = place;
      for (std::size_t d = part.size.size(); d-- > 0;) {
        const auto extent = static_cast<std::uint64_t>(part.size[d]);
        one.first[d] = part.first[d] + static_cast<std::int64_t>(rest % extent);
        rest /= extent;
      }
      if (has_foreground(one, volume)) return sample_at(volume, one.first);
    }
  }
  return std::nullopt;
}

std::uint64_t PatchDraws::draw(std::uint64_t turn, std::uint64_t key) const {
  Draws draws(key, 0, 0);
  const auto after = static_cast<std::size_t>(std::ranges::upper_bound(turns_, turn) - turns_.begin()) - 1;
  if (live_.empty()) {
    const std::uint64_t number = (turn - turns_[after]) / weights_[after];
    const PatchGrid::Region region = volumes_.volumes()[after].grid.region(number, edges_[after]);
    return sample_at(after, place_in(region, draws));
  }
  const Live& live = live_[after];
  const std::size_t volume = volume_of(live.region);
  const auto parts = parts_of(live.region, volume);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t place = draws.below(parts->ends.back());
    const auto part =
        static_cast<std::size_t>(std::ranges::upper_bound(parts->ends, place) - parts->ends.begin());
    const PatchGrid::Region one{place_in(parts->boxes[part], draws), Shape(volumes_.patch().size(), 1)};
    if (has_foreground(one, volume)) return sample_at(volume, one.first);
  }
  return live.sample;
}

}  // namespace penstock
