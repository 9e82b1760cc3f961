#include "statistics/number_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace penstock {
namespace {

constexpr std::size_t kLanes = 8;

// Several sums are computed side by side, because each addition to a single sum would wait for the one before.
template <typename Term>
double sum_in_lanes(std::span<const double> values, Term term) {
  std::array<double, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(values[i + lane]);
  for (; i < values.size(); ++i) lanes[0] += term(values[i]);
  return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

}  // namespace

NumberSummary NumberSummary::of(std::span<const double> finite) {
  NumberSummary moments;
  if (finite.empty()) return moments;
  moments.count = finite.size();
  const double mean =
      sum_in_lanes(finite, [](double value) { return value; }) / static_cast<double>(finite.size());
  moments.mean = mean;
  moments.squares = sum_in_lanes(finite, [mean](double value) { return (value - mean) * (value - mean); });
  const auto [min, max] = std::ranges::minmax(finite);
  moments.min = min;
  moments.max = max;
  return moments;
}

void NumberSummary::add(double value) { add(of({&value, 1})); }

void NumberSummary::add(const NumberSummary& other) {
  if (other.count == 0) return;
  const auto own = static_cast<double>(count), others = static_cast<double>(other.count);
  const double distance = other.mean - mean, all = own + others;
  mean += distance * others / all;
  squares += other.squares + distance * distance * own * others / all;
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

double NumberSummary::deviation() const { return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0; }

}  // namespace penstock
