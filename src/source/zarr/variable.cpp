#include "source/zarr/variable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "base/checked_math.h"
#include "base/text/nearest_name.h"
#include "base/numbers/promotion.h"
#include "source/zarr/metadata/fill_value.h"
#include "source/zarr/time/time_array.h"

namespace penstock {
namespace {

// xarray writes the _FillValue of floats into Zarr v3 attributes as base64 of a little-endian double.
std::optional<double> decode_base64_double(const std::string& text) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() != 12 || text.back() != '=') return std::nullopt;
  std::array<std::uint8_t, 9> bytes{};
  for (std::size_t group = 0; group < 3; ++group) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const char letter = text[group * 4 + i];
      const auto at = letter == '=' ? 0 : digits.find(letter);
      if (at == std::string::npos) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(at);
    }
    for (std::size_t i = 0; i < 3; ++i)
      bytes[group * 3 + i] = static_cast<std::uint8_t>(bits >> (16 - 8 * i));
  }
  double value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::optional<double> number_of(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return decode_base64_double(text);
}

// A missing-value mark is compared with stored values, so it is rounded to the stored type: 1e20 and 0.1 are not
// exact in float32. Returns nullopt if the type cannot represent the mark, which then never occurs. `given` is the
// attribute and `value` its number; a large integer may fit its type as it was given, but not after rounding to a
// double.
std::optional<double> as_stored(const nlohmann::json& given, double value, DType dtype) {
  const bool is_bool = dtype == DType::kBool && (value == 0 || value == 1);
  const nlohmann::json number = is_bool                     ? nlohmann::json(value == 1)
                                : given.is_number_integer() ? given
                                                            : nlohmann::json(value);
  const auto element = read_fill_value(&number, dtype, 3, "");
  const auto stored = element ? fill_value_number(&number, *element, dtype) : std::nullopt;
  return stored && std::isfinite(*stored) == std::isfinite(value) ? stored : std::nullopt;
}

// An attribute that is a single number may also be a list of one number.
const nlohmann::json* one_number(const ZarrArray& array, const char* name) {
  const auto found = array.attributes.find(name);
  if (found == array.attributes.end()) return nullptr;
  return found->is_array() && found->size() == 1 ? &found->front() : &*found;
}

Result<double> attribute(const ZarrArray& array, const char* name, double otherwise) {
  const nlohmann::json* value = one_number(array, name);
  if (value == nullptr) return otherwise;
  const auto number = number_of(*value);
  if (!number || !std::isfinite(*number))
    return fail(ErrorCode::kUnsupported,
                fmt::format("attribute {} is {}, not a number", name, value->dump().substr(0, 80)),
                {array.data->uri(), -1, -1, -1});
  return *number;
}

// The type that xarray chooses for scaled or masked integers of 32 and 64 bits.
DType type_of_wide_integers(const ZarrArray& array, bool is_masked) {
  constexpr double kLargestExact = 0x1p53;
  const nlohmann::json* scale = one_number(array, "scale_factor");
  const bool keeps_integers = !is_masked && scale != nullptr && scale->is_number_integer() &&
                              std::abs(scale->get<double>()) <= kLargestExact &&
                              !array.attributes.contains("add_offset");
  return keeps_integers ? DType::kInt64 : DType::kFloat64;
}

// The axis that is given by name or number.
Result<int> axis_named(const ZarrArray& array, const std::variant<std::string, int>& name,
                       const std::string& uri) {
  const auto rank = static_cast<int>(array.data->spec().shape.size());
  if (const auto* number = std::get_if<int>(&name)) {
    if (*number < -rank || *number >= rank)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("sample_dim={}: {} has {} axes", *number,
                              array.name.empty() ? "the array" : array.name, rank),
                  {uri, -1, -1, -1});
    return *number < 0 ? *number + rank : *number;
  }
  const auto& wanted = std::get<std::string>(name);
  const auto found = std::ranges::find(array.dimensions, wanted);
  return found == array.dimensions.end() ? -1 : static_cast<int>(found - array.dimensions.begin());
}

// NetCDF 3 had no unsigned types; this attribute marks integers that are meant to be unsigned.
Status check_signedness(const ZarrArray& array) {
  const auto found = array.attributes.find("_Unsigned");
  if (found == array.attributes.end()) return {};
  const DType dtype = array.data->spec().dtype;
  const bool is_signed =
      dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
  if ((*found == "true") != is_signed) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} numbers with attribute _Unsigned={} are not read; decode_cf=False gives them "
                          "as they are stored",
                          name_of(dtype), found->dump().substr(0, 20)),
              {array.data->uri(), -1, -1, -1});
}

// Whether `dimension` is the name of the axis, or its number if the axis has no name.
bool names_axis(const std::string& dimension, const ZarrArray& array, std::size_t axis) {
  const bool has_name = axis < array.dimensions.size() && !array.dimensions[axis].empty();
  return dimension == (has_name ? array.dimensions[axis] : std::to_string(axis));
}

Result<Chosen> select_on_axis(const Selection& selection, const std::string& dimension, const ZarrArray& array,
                              std::int64_t extent, Coordinates* coordinates, const std::string& uri) {
  const auto refuse = [&](std::string_view message) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("select {}: {}", dimension, message),
                {uri, -1, -1, -1});
  };
  if (coordinates == nullptr)
    return refuse("an array alone has no coordinates; isel= selects by position, or open its group");
  const auto coordinate = coordinates->of(dimension, array.name, extent);
  if (coordinate) return select_by_value(selection, **coordinate, dimension, uri);
  if (coordinate.error().code == ErrorCode::kNotFound)
    return refuse("there is no array of its coordinates; isel= selects by position");
  if (coordinate.error().code == ErrorCode::kUnsupported)
    return refuse(fmt::format("its coordinates cannot be compared ({}); isel= selects by position",
                              coordinate.error().message));
  return std::unexpected(coordinate.error());
}

}  // namespace

Shape Variable::shape() const {
  Shape shape;
  for (std::size_t d = 0; d < taken.size(); ++d)
    if (is_axis_of_sample(d)) shape.push_back(taken[d].entries.count());
  return shape;
}

DType Variable::dtype() const {
  DType dtype = parts.front().dtype();
  for (const VariablePart& part : parts)
    if (part.dtype() != dtype) dtype = promoted(dtype, part.dtype());
  return dtype;
}

std::size_t Variable::part_of(std::int64_t index) const {
  const auto after = std::ranges::upper_bound(parts, index, {}, &VariablePart::first);
  return static_cast<std::size_t>(after - parts.begin()) - 1;
}

std::int64_t Variable::end_of(std::size_t part) const {
  return parts[part].first + parts[part].data->spec().shape[static_cast<std::size_t>(sample_axis)];
}

bool is_coordinate_or_label(const Variable& variable, const std::vector<Variable>& all) {
  const ZarrArray& array = variable.array;
  if (array.name.empty()) return false;  // an array outside a group is data
  const std::string units = text_attribute(array, "units");
  if (variable.is_time || array.time_unit || units.find(" since ") != std::string::npos) return true;
  const std::string name = array.name.substr(array.name.rfind('/') + 1);
  for (const Variable& other : all) {
    if (std::ranges::find(other.array.dimensions, name) != other.array.dimensions.end()) return true;
    std::istringstream coordinates(text_attribute(other.array, "coordinates"));
    for (std::string one; coordinates >> one;)
      if (one == name) return true;
  }
  return variable.sample_axis == 0 && variable.taken.size() == 1 && array.data->spec().dtype <= DType::kInt64;
}

Result<std::shared_ptr<const ValueCoding>> coding_of(const ZarrArray& array, const ZarrOptions& options) {
  const DType dtype = array.data->spec().dtype;
  const bool is_float = dtype >= DType::kFloat16 && dtype <= DType::kFloat64;
  const bool is_wide_integer = dtype >= DType::kUInt32 && dtype <= DType::kInt64;
  if (dtype >= DType::kComplex64 || array.time_unit) return nullptr;
  ValueCoding coding;
  bool is_packed = false, is_masked = false;
  if (options.decode_cf) {
    PENSTOCK_CHECK(check_signedness(array));
    const auto scale = attribute(array, "scale_factor", 1), offset = attribute(array, "add_offset", 0);
    if (!scale) return std::unexpected(scale.error());
    if (!offset) return std::unexpected(offset.error());
    coding.scale = *scale;
    coding.offset = *offset;
    const bool has_packing =
        array.attributes.contains("scale_factor") || array.attributes.contains("add_offset");
    is_packed = is_wide_integer ? has_packing : coding.scale != 1 || coding.offset != 0;
    for (const char* name : {"_FillValue", "missing_value"}) {
      const auto found = array.attributes.find(name);
      if (found == array.attributes.end()) continue;
      const nlohmann::json list = found->is_array() ? *found : nlohmann::json::array({*found});
      for (const nlohmann::json& value : list) {
        const auto number = number_of(value);
        if (!number)
          return fail(ErrorCode::kUnsupported,
                      fmt::format("attribute {} is {}, not a number", name, found->dump().substr(0, 80)),
                      {array.data->uri(), -1, -1, -1});
        is_masked = is_masked || !std::isnan(*number);
        const auto mark = std::isnan(*number) ? std::nullopt : as_stored(value, *number, dtype);
        if (mark && std::ranges::find(coding.missing, *mark) == coding.missing.end())
          coding.missing.push_back(*mark);
      }
    }
    // xarray reads the _FillValue of Zarr v2 from .zarray. A 0 there is the default of zarr-python, so it is a
    // mark only if the variable is packed.
    const bool may_be_mark = has_packing || (array.attributes.contains("_ARRAY_DIMENSIONS") &&
                                             array.fill_value != 0.0 && dtype != DType::kBool);
    if (may_be_mark && coding.missing.empty() && array.fill_value && !std::isnan(*array.fill_value))
      coding.missing.push_back(*array.fill_value);
  }
  const bool replaces_nan = options.nan != ZarrOptions::Nan::kKeep && is_float;
  is_masked = is_wide_integer ? is_masked || !coding.missing.empty() : !coding.missing.empty();
  if (!is_packed && !is_masked && !replaces_nan) return nullptr;
  if (is_wide_integer) coding.dtype = type_of_wide_integers(array, is_masked);
  if (dtype == DType::kFloat64) coding.dtype = DType::kFloat64;
  coding.missing_is_error = options.nan == ZarrOptions::Nan::kError;
  coding.instead_of_missing =
      options.nan == ZarrOptions::Nan::kReplace ? options.nan_value : std::numeric_limits<double>::quiet_NaN();
  return std::make_shared<const ValueCoding>(std::move(coding));
}

Status decode_times(ZarrArray& array) {
  std::string why_not;
  auto coding = time_coding_of(array, &why_not);
  if (!coding) return std::unexpected(std::move(coding).error());
  if (!*coding)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the times of {} cannot be decoded: {}; decode_cf=False gives them as they are stored",
                            array.name.empty() ? "the array" : array.name, why_not),
                {array.data->uri(), -1, -1, -1});
  auto times = make_time_array(array.data, **coding);
  if (!times) return std::unexpected(std::move(times).error());
  array.data = std::move(*times);
  return {};
}

Result<Variable> make_variable(std::vector<ZarrArray> arrays, bool is_time, Coordinates* coordinates,
                               const ZarrOptions& options, const std::string& uri) {
  Variable variable;
  ZarrArray& array = arrays.front();
  const auto axis = axis_named(array, options.sample_dim, uri);
  if (!axis) return std::unexpected(axis.error());
  variable.sample_axis = *axis;
  Shape shape = array.data->spec().shape;
  variable.is_time = is_time;
  std::int64_t entries = 0;
  for (ZarrArray& part : arrays) {
    std::shared_ptr<const ValueCoding> coding;
    if (!variable.is_time) {
      auto found = coding_of(part, options);
      if (!found) return std::unexpected(std::move(found).error());
      coding = std::move(*found);
    }
    variable.parts.push_back({part.data, entries, std::move(coding)});
    if (*axis < 0) continue;
    const auto more =
        checked_add(entries, part.data->spec().shape[static_cast<std::size_t>(variable.sample_axis)]);
    if (!more)
      return fail(ErrorCode::kTooLarge, "the sample dimension has too many entries", {uri, -1, -1, -1});
    entries = *more;
  }
  if (*axis >= 0) shape[static_cast<std::size_t>(*axis)] = entries;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Chosen chosen{IndexRuns(IndexRun{0, shape[d], 1}), false};
    for (const auto& [dimension, selection] : options.select) {
      if (!names_axis(dimension, array, d)) continue;
      auto selected = select_on_axis(selection, dimension, array, shape[d], coordinates, uri);
      if (!selected) return std::unexpected(std::move(selected).error());
      chosen = std::move(*selected);
    }
    for (const auto& [dimension, positions] : options.isel) {
      if (!names_axis(dimension, array, d)) continue;
      auto selected = select_by_position(positions, shape[d], dimension, uri);
      if (!selected) return std::unexpected(std::move(selected).error());
      chosen = std::move(*selected);
    }
    variable.taken.push_back(std::move(chosen));
  }
  variable.array = std::move(array);
  return variable;
}

}  // namespace penstock
