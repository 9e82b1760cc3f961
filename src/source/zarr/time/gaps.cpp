#include "source/zarr/time/gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

namespace penstock {
namespace {

double median_of(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  if (numbers.size() % 2 == 1) return *middle;
  return (*std::max_element(numbers.begin(), middle) + *middle) / 2;
}

}  // namespace

std::string WindowsInTime::reason() const {
  return fmt::format(
      "{} steps from one time to the next are longer than {} times the median step of {} s, and "
      "{} do not go forward",
      gaps, kLongestStep, median_seconds, not_increasing);
}

WindowsInTime windows_without_gaps(std::int64_t count,
                                   const std::function<std::optional<Moment>(std::int64_t)>& moment_at,
                                   std::int64_t lowest, std::int64_t highest) {
  WindowsInTime found;
  std::vector<double> steps;  // step k is from entry k to k + 1, in seconds; NaN: unknown
  steps.reserve(static_cast<std::size_t>(std::max<std::int64_t>(count - 1, 0)));
  std::optional<Moment> before;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::optional<Moment> now = moment_at(k);
    if (k > 0)
      steps.push_back(before && now ? seconds_between(*before, *now)
                                    : std::numeric_limits<double>::quiet_NaN());
    before = now;
  }
  std::vector<double> forward;
  std::ranges::copy_if(steps, std::back_inserter(forward), [](double step) { return step > 0; });
  found.median_seconds = median_of(std::move(forward));
  const auto is_bad = [&](double step) { return !(step > 0) || step > kLongestStep * found.median_seconds; };
  for (const double step : steps) {
    if (!is_bad(step)) continue;
    if (step > 0)
      ++found.gaps;
    else
      ++found.not_increasing;
  }
  std::int64_t whole_from = 0;  // no step is bad from this entry to the last one of the window
  IndexRun run{0, 0, 1};
  for (std::int64_t last = highest - lowest; last < count; ++last) {
    for (std::int64_t k = last == highest - lowest ? 1 : last; k <= last; ++k)
      if (is_bad(steps[static_cast<std::size_t>(k - 1)])) whole_from = k;
    const std::int64_t own = last - highest;
    if (own + lowest < whole_from) {
      ++found.left_out;
      continue;
    }
    if (own != run.first + run.count) {
      found.windows.append(run);
      run = {own, 0, 1};
    }
    ++run.count;
  }
  found.windows.append(run);
  return found;
}

}  // namespace penstock
