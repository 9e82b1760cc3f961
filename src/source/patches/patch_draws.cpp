#include "source/patches/patch_draws.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace penstock {
namespace {

constexpr std::uint64_t kVisitsPerEpoch = 64;  // a minimum, so that an epoch visits many positions
constexpr std::uint64_t kMinPerVisit = 4, kMaxPerVisit = 32;
constexpr std::uint64_t kMaxRegionsListed = 1 << 24;  // 16 bytes each, per volume and class
constexpr std::uint64_t kRegionsPerStopCheck = 1 << 12;  // regions between two checks for a stop
constexpr double kTotalShare = 0x1p60;  // the integer that represents the sum of all weights

Shape random_position_in(const PatchGrid::Region& box, Draws& draws) {
  Shape position(box.first.size());
  for (std::size_t d = 0; d < position.size(); ++d)
    position[d] = box.first[d] + static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(box.size[d])));
  return position;
}

std::unexpected<Error> bad_draw_option(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

bool is_weight(double weight) { return std::isfinite(weight) && weight >= 0; }

Status check_draw_options(const PatchOptions& options, std::size_t volumes) {
  if (!(options.min_foreground >= 0 && options.min_foreground <= 1))
    return bad_draw_option(fmt::format("min_foreground={}: a share from 0 to 1", options.min_foreground));
  if (!options.volume_weights.empty() && options.volume_weights.size() != volumes)
    return bad_draw_option(fmt::format("{} weights for {} volumes", options.volume_weights.size(), volumes));
  for (const double weight : options.volume_weights)
    if (!is_weight(weight))
      return bad_draw_option(fmt::format("weights: {} is not a finite number from 0 on", weight));
  double sum = 0;
  for (const auto& [value, weight] : options.class_weights) {
    if (!is_weight(weight))
      return bad_draw_option(
          fmt::format("class_weights: {} of class {} is not a finite number from 0 on", weight, value));
    sum += weight;
  }
  if (!options.class_weights.empty() && !(sum > 0 && std::isfinite(sum)))
    return bad_draw_option("class_weights: the weights sum to nothing, or to more than a number holds");
  return {};
}

}  // namespace

Result<std::unique_ptr<const PatchDraws>> PatchDraws::make(const PatchVolumes& volumes,
                                                           const PatchOptions& options) {
  PENSTOCK_CHECK(check_draw_options(options, volumes.volumes().size()));
  auto sets = find_position_sets(volumes, options);
  if (!sets) return std::unexpected(std::move(sets).error());
  std::unique_ptr<PatchDraws> draws(new PatchDraws(volumes));
  draws->per_epoch_ = options.per_epoch;
  draws->per_visit_ = std::clamp(options.per_epoch / kVisitsPerEpoch, kMinPerVisit, kMaxPerVisit);
  PENSTOCK_CHECK(draws->find_strata(std::move(*sets), options));
  PENSTOCK_CHECK(draws->divide_draws(options));
  return draws;
}

Shape PatchDraws::region_edge(const PatchVolume& volume, bool is_listed) const {
  const Shape& patch = volumes_.patch();
  const Shape& chunk = volumes_.arrays()[volume.image]->chunk_shape();
  Shape edge(patch.size());
  for (std::size_t d = 0; d < patch.size(); ++d)
    edge[d] = std::max<std::int64_t>(1, std::max(patch[d], chunk[chunk.size() - patch.size() + d]) / 2);
  // Wider regions keep the table of regions below its limit.
  while (is_listed && volume.grid.regions(edge) > kMaxRegionsListed)
    for (std::int64_t& extent : edge) extent *= 2;
  return edge;
}

Shape PatchDraws::centre_of(const Shape& origin) const {
  Shape centre = origin;
  for (std::size_t d = 0; d < centre.size(); ++d) centre[d] += volumes_.patch()[d] / 2;
  return centre;
}

Status PatchDraws::count_positions(Stratum& stratum, const PatchOptions& options) const {
  const PatchVolume& volume = volumes_.volumes()[stratum.set.volume];
  stratum.edge = region_edge(volume, stratum.set.centres.has_value());
  if (!stratum.set.centres) {
    stratum.positions = volume.grid.size();
    return {};
  }
  const std::uint64_t regions = volume.grid.regions(stratum.edge);
  for (std::uint64_t number = 0; number < regions; ++number) {
    if (number % kRegionsPerStopCheck == 0 && options.progress && !options.progress(0))
      return fail(ErrorCode::kStopped, "counting positions for patches was stopped",
                  {volumes_.arrays()[volume.image]->uri(), -1, -1, -1});
    const PatchGrid::Region region = volume.grid.region(number, stratum.edge);
    const std::uint64_t count = stratum.set.centres->count(centre_of(region.first), region.size);
    if (count == 0) continue;
    stratum.regions.push_back(number);
    stratum.ends.push_back(stratum.positions += count);
  }
  return {};
}

Status PatchDraws::find_strata(std::vector<PositionSet> sets, const PatchOptions& options) {
  std::vector<std::uint64_t> positions_of_class(std::max<std::size_t>(1, options.class_weights.size()));
  for (PositionSet& set : sets) {
    Stratum stratum;
    stratum.set = std::move(set);
    PENSTOCK_CHECK(count_positions(stratum, options));
    positions_of_class[stratum.set.class_number] += stratum.positions;
    if (stratum.positions > 0) strata_.push_back(std::move(stratum));
  }
  const Where where{volumes_.arrays()[volumes_.volumes().front().image]->uri(), -1, -1, -1};
  for (std::size_t i = 0; i < options.class_weights.size(); ++i)
    if (options.class_weights[i].second > 0 && positions_of_class[i] == 0)
      return fail(ErrorCode::kNotFound,
                  fmt::format("class_weights: no patch of size={} that is allowed has label {} at its centre",
                              volumes_.patch(), options.class_weights[i].first),
                  where);
  if (!strata_.empty()) return {};
  if (options.min_foreground > 0)
    return fail(
        ErrorCode::kNotFound,
        fmt::format("no patch was found with min_foreground={} of its labels not 0", options.min_foreground),
        {volumes_.arrays()[volumes_.volumes().front().label]->uri(), -1, -1, -1});
  return fail(ErrorCode::kNotFound, "the mask is 0 at the centre of every patch that fits", where);
}

Status PatchDraws::divide_draws(const PatchOptions& options) {
  const auto volume_weight = [&](const Stratum& stratum) {
    return options.volume_weights.empty() ? static_cast<double>(stratum.positions)
                                          : options.volume_weights[stratum.set.volume];
  };
  const std::size_t classes = std::max<std::size_t>(1, options.class_weights.size());
  std::vector<double> weight_of_class(classes, 1), sum_of_volumes(classes, 0);
  for (std::size_t i = 0; i < options.class_weights.size(); ++i)
    weight_of_class[i] = options.class_weights[i].second;
  double sum_of_classes = 0;
  for (const double weight : weight_of_class) sum_of_classes += weight;
  for (const Stratum& stratum : strata_) sum_of_volumes[stratum.set.class_number] += volume_weight(stratum);
  for (std::size_t i = 0; i < classes; ++i)
    if (weight_of_class[i] > 0 && !(sum_of_volumes[i] > 0 && std::isfinite(sum_of_volumes[i])))
      return bad_draw_option("weights: the volumes that have positions for patches all have weight 0");
  const bool is_by_positions = options.volume_weights.empty() && options.class_weights.empty();
  std::uint64_t end = 0;
  for (Stratum& stratum : strata_) {
    const std::size_t number = stratum.set.class_number;
    stratum.share = is_by_positions
                        ? stratum.positions
                        : static_cast<std::uint64_t>(std::llround(
                              kTotalShare * (weight_of_class[number] / sum_of_classes) *
                              (sum_of_volumes[number] > 0 ? volume_weight(stratum) / sum_of_volumes[number] : 0)));
    stratum.end = end += stratum.share;
    const PatchVolume& volume = volumes_.volumes()[stratum.set.volume];
    if (stratum.share > 0)
      visits_ += stratum.set.centres ? stratum.regions.size() : volume.grid.regions(stratum.edge);
  }
  if (end == 0) return bad_draw_option("weights: they leave no position for patches");
  return {};
}

std::uint64_t PatchDraws::draw(std::uint64_t point, std::uint64_t key) const {
  using Wide = unsigned __int128;
  const auto at = static_cast<std::uint64_t>(Wide{point} * strata_.back().end >> 64);
  const Stratum& stratum = *std::ranges::upper_bound(strata_, at, {}, &Stratum::end);
  const auto rank = static_cast<std::uint64_t>(Wide{at - (stratum.end - stratum.share)} * stratum.positions /
                                               stratum.share);
  const PatchVolume& volume = volumes_.volumes()[stratum.set.volume];
  Draws draws(key, 0, 0);
  if (!stratum.set.centres)
    return volume.first_sample +
           volume.grid.number_of(random_position_in(volume.grid.region_at(rank, stratum.edge), draws));
  const auto found =
      static_cast<std::size_t>(std::ranges::upper_bound(stratum.ends, rank) - stratum.ends.begin());
  const PatchGrid::Region region = volume.grid.region(stratum.regions[found], stratum.edge);
  const std::uint64_t count = stratum.ends[found] - (found > 0 ? stratum.ends[found - 1] : 0);
  Shape origin = stratum.set.centres->nth(centre_of(region.first), region.size, draws.below(count));
  for (std::size_t d = 0; d < origin.size(); ++d) origin[d] -= volumes_.patch()[d] / 2;
  return volume.first_sample + volume.grid.number_of(origin);
}

std::uint64_t PatchDraws::fingerprint() const {
  std::uint64_t hash = 0;
  for (const Stratum& stratum : strata_) {
    for (const std::uint64_t number : {std::uint64_t{stratum.set.volume}, stratum.positions, stratum.share})
      hash = mix64(hash ^ number);
    for (std::size_t i = 0; i < stratum.regions.size(); ++i)
      hash = mix64(hash ^ stratum.regions[i] ^ mix64(stratum.ends[i]));
  }
  return hash;
}

}  // namespace penstock
