#include "source/zarr/choose_variables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text/nearest_name.h"

namespace penstock {
namespace {

std::unexpected<Error> bad_choice(std::string message, const std::string& uri) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), {uri, -1, -1, -1});
}

bool is_coordinate(const ZarrArray& array) {
  return array.dimensions == std::vector<std::string>{array.name.substr(array.name.rfind('/') + 1)};
}

// The default choice: arrays that have the sample dimension and are not coordinates. If the dimension is a number,
// it is an axis of the array with the most axes.
Result<std::vector<std::string>> choose_variables(const ZarrNode& node, const ZarrOptions& options,
                                                  const std::string& uri, std::string& dimension) {
  if (node.arrays().empty())
    return bad_choice("the arrays of this group cannot be listed; name them by variables=", uri);
  std::vector<ZarrArray> arrays;
  std::set<std::string> dimensions;
  for (const std::string& name : node.arrays()) {
    auto array = node.array(name);
    if (!array && array.error().code == ErrorCode::kUnsupported) {
      // Arrays of strings and other unsupported types are skipped; damaged arrays and unknown codecs are
      // errors.
      const auto is_readable = node.has_readable_type(name);
      if (is_readable && !*is_readable) continue;
    }
    if (!array) return std::unexpected(std::move(array).error());
    dimensions.insert(array->dimensions.begin(), array->dimensions.end());
    if (!is_coordinate(*array)) arrays.push_back(std::move(*array));
  }
  if (const auto* axis = std::get_if<int>(&options.sample_dim)) {
    const auto largest = std::ranges::max_element(
        arrays, {}, [](const ZarrArray& array) { return array.data->spec().shape.size(); });
    const int rank = largest == arrays.end() ? 0 : static_cast<int>(largest->dimensions.size());
    const int position = *axis < 0 ? *axis + rank : *axis;
    if (position >= 0 && position < rank) dimension = largest->dimensions[static_cast<std::size_t>(position)];
  } else {
    dimension = std::get<std::string>(options.sample_dim);
  }
  std::vector<std::string> names;
  for (const ZarrArray& array : arrays) {
    const bool is_meant = dimension.empty()
                              ? array.data->spec().shape.size() > 1
                              : std::ranges::find(array.dimensions, dimension) != array.dimensions.end();
    if (is_meant) names.push_back(array.name);
  }
  if (!names.empty()) return names;
  const std::vector<std::string> known(dimensions.begin(), dimensions.end());
  const auto near = nearest_name(dimension, known);
  return bad_choice(
      dimension.empty()
          ? fmt::format("no array of this group has two axes or more; there are: {}",
                        fmt::join(node.arrays(), ", "))
          : fmt::format("no array has the dimension \"{}\"{}; there are the dimensions {}", dimension,
                        near ? fmt::format(" (did you mean \"{}\"?)", *near) : "", fmt::join(known, ", ")),
      uri);
}

}  // namespace

Status check_dimensions(const ZarrOptions& options, const std::vector<Variable>& variables,
                        const std::string& uri) {
  std::set<std::string> known, seen;
  for (const Variable& variable : variables)
    for (std::size_t d = 0; d < variable.taken.size(); ++d)
      known.insert(d < variable.array.dimensions.size() && !variable.array.dimensions[d].empty()
                       ? variable.array.dimensions[d]
                       : std::to_string(d));
  const auto check = [&](std::string_view keyword, const std::string& dimension) -> Status {
    if (!seen.insert(dimension).second)
      return bad_choice(fmt::format("{} {}: the dimension is selected from twice", keyword, dimension), uri);
    if (known.contains(dimension)) return {};
    const std::vector<std::string> list(known.begin(), known.end());
    const auto near = nearest_name(dimension, list);
    return bad_choice(
        fmt::format("{}: there is no dimension \"{}\"{}; there are {}", keyword, dimension,
                    near ? fmt::format(" (did you mean \"{}\"?)", *near) : "", fmt::join(list, ", ")),
        uri);
  };
  for (const auto& [dimension, selection] : options.select) PENSTOCK_CHECK(check("select", dimension));
  for (const auto& [dimension, positions] : options.isel) PENSTOCK_CHECK(check("isel", dimension));
  return {};
}

SampleDimension named_dimension(const SampleDimension& given, const ZarrArray& array) {
  const auto* axis = std::get_if<int>(&given);
  if (axis == nullptr || array.name.empty()) return given;
  const int position = sample_axis_of(array, given);
  const bool has_name = position >= 0 && static_cast<std::size_t>(position) < array.dimensions.size() &&
                        !array.dimensions[static_cast<std::size_t>(position)].empty();
  return has_name ? SampleDimension(array.dimensions[static_cast<std::size_t>(position)]) : given;
}

Result<std::vector<std::string>> choose_names(const std::vector<OpenedStore>& stores, ZarrOptions& options) {
  const bool are_arrays = stores.front().node.is_array();
  if (are_arrays && !options.variables.empty())
    return bad_choice("this is one array, not a group: variables= does not apply", stores.front().uri);
  if (are_arrays) return std::vector<std::string>{""};
  for (const std::string& name : options.variables)
    if (std::ranges::count(options.variables, name) > 1)
      return bad_choice(fmt::format("variable {} is named twice", name), stores.front().uri);
  if (!options.variables.empty()) return options.variables;
  std::vector<std::string> names;
  for (const OpenedStore& store : stores) {
    std::string dimension;
    auto chosen = choose_variables(store.node, options, store.uri, dimension);
    if (!chosen) return std::unexpected(std::move(chosen).error());
    if (!dimension.empty()) options.sample_dim = dimension;
    for (std::string& name : *chosen)
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace penstock
