#include "source/zarr/describe_field.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "source/read_array.h"
#include "source/zarr/coordinate.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
using Stores = std::shared_ptr<const std::vector<OpenedStore>>;

// These attributes describe stored numbers, and are wrong once the numbers are decoded.
constexpr const char* kCodingAttributes[] = {"scale_factor", "add_offset", "_FillValue", "missing_value",
                                             "_Unsigned",    "valid_min",  "valid_max",  "valid_range"};

void describe_times(Json& attributes) {
  for (const char* name : kCodingAttributes) attributes.erase(name);
  attributes["units"] = "nanoseconds since 1970-01-01";
  attributes["calendar"] = "proleptic_gregorian";
}

bool is_decoded(const Variable& variable) {
  return variable.is_time || std::ranges::any_of(variable.parts, [&](const VariablePart& part) {
           return part.coding != nullptr || part.data->spec().dtype != variable.dtype();
         });
}

Json attributes_of(const Variable& variable) {
  const ZarrArray& array = variable.array;
  Json attributes = array.attributes;
  attributes.erase("_ARRAY_DIMENSIONS");  // Zarr 3 has dimension_names instead
  if (variable.is_time) {
    describe_times(attributes);
    return attributes;
  }
  if (is_decoded(variable)) {
    for (const char* name : kCodingAttributes) attributes.erase(name);
    return attributes;
  }
  // xarray takes the fill value of Zarr 2 as _FillValue, but not that of Zarr 3. A 0 is the default of zarr-python and
  // means nothing unless the variable is packed.
  const bool is_packed = attributes.contains("scale_factor") || attributes.contains("add_offset");
  const bool is_mark = is_packed || (array.attributes.contains("_ARRAY_DIMENSIONS") && array.fill_value != 0.0);
  if (array.fill_value && is_mark && !attributes.contains("_FillValue") && std::isfinite(*array.fill_value))
    attributes["_FillValue"] = *array.fill_value;
  return attributes;
}

template <typename Stored, typename Number>
void append_as(const std::vector<Number>& numbers, std::vector<std::byte>& out) {
  for (const Number number : numbers) {
    const auto stored = static_cast<Stored>(number);
    const auto* bytes = reinterpret_cast<const std::byte*>(&stored);
    out.insert(out.end(), bytes, bytes + sizeof stored);
  }
}

// Appends all elements of a coordinate. Fails with kUnsupported for types that are no coordinates, and for float16,
// whose numbers are kept as float32 (out.dtype).
Status append_elements(const ChunkedArray& array, CoordinateValues& out) {
  const DType dtype = array.spec().dtype;
  const bool is_integer = dtype >= DType::kUInt8 && dtype <= DType::kInt64;
  if (is_integer && dtype != DType::kUInt64) {
    const auto numbers = read_integers(array, kMaxCoordinates);
    if (!numbers) return std::unexpected(numbers.error());
    switch (dtype) {
      case DType::kUInt8: append_as<std::uint8_t>(*numbers, out.values); break;
      case DType::kInt8: append_as<std::int8_t>(*numbers, out.values); break;
      case DType::kUInt16: append_as<std::uint16_t>(*numbers, out.values); break;
      case DType::kInt16: append_as<std::int16_t>(*numbers, out.values); break;
      case DType::kUInt32: append_as<std::uint32_t>(*numbers, out.values); break;
      case DType::kInt32: append_as<std::int32_t>(*numbers, out.values); break;
      default: append_as<std::int64_t>(*numbers, out.values); break;
    }
    return {};
  }
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64)
    return fail(ErrorCode::kUnsupported, "not a type of coordinates", {array.uri(), -1, -1, -1});
  const auto numbers = read_numbers(array, kMaxCoordinates);
  if (!numbers) return std::unexpected(numbers.error());
  if (dtype == DType::kFloat32) append_as<float>(*numbers, out.values);
  else append_as<double>(*numbers, out.values);
  return {};
}

bool is_absent(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kUnsupported;
}

// Arrays that are decoded differently are decoded to one type, if they hold times; their numbers cannot be joined
// otherwise.
Result<bool> make_alike(std::vector<ZarrArray>& arrays) {
  const ZarrArray& first = arrays.front();
  const bool are_alike = std::ranges::all_of(arrays, [&](const ZarrArray& one) {
    return one.attributes == first.attributes && one.data->spec().dtype == first.data->spec().dtype && !one.time_unit;
  });
  if (are_alike) return true;
  for (ZarrArray& array : arrays) {
    const auto decoded = decode_times(array);
    if (!decoded && is_absent(decoded.error())) return false;
    if (!decoded) return std::unexpected(decoded.error());
  }
  describe_times(arrays.front().attributes);
  return true;
}

// The whole coordinate of a dimension; nullopt: there is none that can be kept. `parts` are the stores that follow one
// another along the dimension, with their extents.
Result<std::optional<CoordinateValues>> read_coordinate(const std::vector<OpenedStore>& stores,
                                                        const std::vector<std::int64_t>& extents,
                                                        const std::string& dimension, const std::string& array_name) {
  std::vector<ZarrArray> arrays;
  for (const OpenedStore& store : stores) {
    if (arrays.size() == extents.size()) break;
    auto array = find_coordinate(store.node, dimension, array_name);
    if (!array && is_absent(array.error())) continue;
    if (!array) return std::unexpected(std::move(array).error());
    if (array->data->spec().shape != Shape{extents[arrays.size()]}) continue;
    arrays.push_back(std::move(*array));
  }
  if (arrays.size() != extents.size()) return std::nullopt;
  const auto alike = make_alike(arrays);
  if (!alike) return std::unexpected(alike.error());
  if (!*alike) return std::nullopt;
  CoordinateValues values{dimension, arrays.front().data->spec().dtype, {}, "{}"};
  for (const ZarrArray& array : arrays) {
    const auto added = append_elements(*array.data, values);
    if (!added && is_absent(added.error())) return std::nullopt;
    if (!added) return std::unexpected(added.error());
  }
  Json attributes = arrays.front().attributes;
  attributes.erase("_ARRAY_DIMENSIONS");
  values.attributes = attributes.dump();
  return values;
}

void choose_entries(CoordinateValues& values, const IndexRuns& entries) {
  const std::size_t item = size_of(values.dtype);
  std::vector<std::byte> chosen;
  for (std::int64_t i = 0; i < entries.count(); ++i) {
    const auto first = values.values.begin() + static_cast<std::ptrdiff_t>(item) * entries.at(i);
    chosen.insert(chosen.end(), first, first + static_cast<std::ptrdiff_t>(item));
  }
  values.values = std::move(chosen);
}

struct NamedAxis {
  std::string dimension;
  std::int64_t extent = 0;
  IndexRuns entries;
};

std::string dimension_of(const ZarrArray& array, std::size_t axis) {
  return axis < array.dimensions.size() ? array.dimensions[axis] : std::string();
}

}  // namespace

std::shared_ptr<const ArrayDescription> describe_field(const ZarrField& field, const std::vector<Variable>& variables,
                                                       const Stores& stores) {
  const Variable& variable = variables[field.variables.front()];
  auto description = std::make_shared<ArrayDescription>();
  std::vector<NamedAxis> axes;
  const Shape& extents = variable.array.data->spec().shape;
  for (std::size_t d = 0; d < variable.taken.size(); ++d)
    if (variable.is_axis_of_sample(d))
      axes.push_back({dimension_of(variable.array, d), extents[d], variable.taken[d].entries});
  const std::size_t rank = field.layout.spec.shape.size();
  // The axes of steps and of stacked channels have no names of their own.
  const std::size_t own = field.is_stack ? std::min<std::size_t>(axes.size(), 2) : axes.size();
  axes.erase(axes.begin(), axes.end() - static_cast<std::ptrdiff_t>(own));
  description->dimensions.assign(rank - own, "");
  for (const NamedAxis& axis : axes) description->dimensions.push_back(axis.dimension);
  if (!field.is_stack) {
    description->attributes = attributes_of(variable).dump();
    description->is_decoded = is_decoded(variable);
  }
  if (stores->front().node.is_array()) return description;
  const std::string name = variable.array.name;
  std::erase_if(axes, [](const NamedAxis& axis) { return axis.dimension.empty(); });
  description->read_coordinates = [stores, axes, name]() -> Result<std::vector<CoordinateValues>> {
    std::vector<CoordinateValues> all;
    for (const NamedAxis& axis : axes) {
      auto values = read_coordinate(*stores, {axis.extent}, axis.dimension, name);
      if (!values) return std::unexpected(std::move(values).error());
      if (!*values) continue;
      choose_entries(**values, axis.entries);
      all.push_back(std::move(**values));
    }
    return all;
  };
  if (variable.sample_axis < 0) return description;
  const auto sample_axis = static_cast<std::size_t>(variable.sample_axis);
  description->sample_dimension = dimension_of(variable.array, sample_axis);
  if (description->sample_dimension.empty()) return description;
  std::vector<std::int64_t> along;
  for (const VariablePart& part : variable.parts) along.push_back(part.data->spec().shape[sample_axis]);
  description->read_sample_coordinate = [stores, along, name, dimension = description->sample_dimension] {
    return read_coordinate(*stores, along, dimension, name);
  };
  return description;
}

}  // namespace penstock
