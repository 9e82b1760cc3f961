#include "pack/zarr/packed_coordinates.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "source/array_layout.h"

namespace penstock {
namespace {

// Picks from the coordinate of a dimension the entries that are samples.
Result<std::optional<CoordinateValues>> coordinate_of_samples(const Source& source, const ArrayDescription& description) {
  if (!description.read_sample_coordinate || !source.kind().starts_with("zarr")) return std::nullopt;
  auto whole = description.read_sample_coordinate();
  if (!whole || !*whole) return whole;
  const std::size_t item = size_of((*whole)->dtype), count = (*whole)->count();
  std::vector<std::byte> chosen(source.size() * item);
  for (std::uint64_t sample = 0; sample < source.size(); ++sample) {
    const std::string key = source.key(sample);
    std::uint64_t entry = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), entry);
    if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size() || entry >= count) return std::nullopt;
    std::memcpy(chosen.data() + sample * item, (*whole)->values.data() + entry * item, item);
  }
  (*whole)->values = std::move(chosen);
  return whole;
}

}  // namespace

Result<std::vector<CoordinateValues>> coordinates_of(const Source& source, const PackPlan& plan) {
  std::vector<CoordinateValues> all;
  const auto add = [&](CoordinateValues values, std::size_t extent) {
    const auto is_same = [&](const auto& other) { return other.name == values.name; };
    if (!is_new_node_name(values.name) || values.name.contains('/')) return;  // names of dimensions are not trusted
    if (std::ranges::any_of(all, is_same) || std::ranges::any_of(plan.arrays, is_same) || values.count() != extent) return;
    all.push_back(std::move(values));
  };
  for (const FieldGroup& group : plan.groups)
    for (std::size_t i = 0; i < group.source_fields.size(); ++i) {
      const ArrayDescription* description = source.array_layout(group.source_fields[i])->description.get();
      if (description == nullptr) continue;
      const PackedArray& array = plan.arrays[group.arrays[i]];
      auto of_samples = coordinate_of_samples(source, *description);
      if (!of_samples) return std::unexpected(std::move(of_samples).error());
      if (*of_samples) add(std::move(**of_samples), source.size());
      if (!description->read_coordinates) continue;
      auto others = description->read_coordinates();
      if (!others) return std::unexpected(std::move(others).error());
      for (CoordinateValues& values : *others) {
        const auto axis = std::ranges::find(array.dimensions, values.name);
        if (axis == array.dimensions.begin() || axis == array.dimensions.end()) continue;
        const auto extent = array.sample.shape[static_cast<std::size_t>(axis - array.dimensions.begin()) - 1];
        add(std::move(values), static_cast<std::size_t>(extent));
      }
    }
  return all;
}

}  // namespace penstock
