// Selection by position, as xarray's `isel` does it.
#include <fmt/format.h>

#include <algorithm>

#include "source/zarr/select.h"

namespace penstock {

Result<Chosen> select_by_position(const Positions& positions, std::int64_t extent,
                                  const std::string& dimension, const std::string& uri) {
  const auto refuse = [&](const std::string& message) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("isel {}: {}", dimension, message), {uri, -1, -1, -1});
  };
  Chosen chosen;
  if (const auto* range = std::get_if<IndexRange>(&positions)) {
    if (range->step == 0) return refuse("a step of 0 leads nowhere");
    const std::int64_t step = std::clamp(range->step, -std::max<std::int64_t>(extent, 1), std::max<std::int64_t>(extent, 1));
    const bool is_backwards = step < 0;
    // A slice that goes backwards may end before the first entry, at -1, as in Python.
    const std::int64_t low = is_backwards ? -1 : 0, high = is_backwards ? extent - 1 : extent;
    const auto clamped = [&](std::optional<std::int64_t> index, std::int64_t otherwise) {
      if (!index) return otherwise;
      return std::clamp<std::int64_t>(*index < 0 ? *index + extent : *index, low, high);
    };
    const std::int64_t first = clamped(range->first, is_backwards ? high : low);
    const std::int64_t end = clamped(range->end, is_backwards ? low : high);
    const std::int64_t covered = is_backwards ? first - end : end - first;
    if (covered <= 0) return refuse(fmt::format("nothing is left of {} entries", extent));
    chosen.entries.append(IndexRun{first, (covered + std::abs(step) - 1) / std::abs(step), step});
    return chosen;
  }
  if (const auto* mask = std::get_if<std::vector<bool>>(&positions)) {
    if (std::ssize(*mask) != extent)
      return refuse(fmt::format("the mask has {} values, the dimension {} entries", mask->size(), extent));
    for (std::size_t i = 0; i < mask->size(); ++i)
      if ((*mask)[i]) chosen.entries.append(static_cast<std::int64_t>(i));
    if (chosen.entries.count() == 0) return refuse("the mask is false everywhere");
    return chosen;
  }
  const auto* one = std::get_if<std::int64_t>(&positions);
  const std::vector<std::int64_t> list =
      one != nullptr ? std::vector{*one} : std::get<std::vector<std::int64_t>>(positions);
  if (list.empty()) return refuse("the list is empty");
  for (const std::int64_t position : list) {
    if (position < -extent || position >= extent)
      return refuse(fmt::format("there is no position {}: the dimension has {} entries", position, extent));
    chosen.entries.append(position < 0 ? position + extent : position);
  }
  chosen.drops_axis = one != nullptr;
  return chosen;
}

}  // namespace penstock
