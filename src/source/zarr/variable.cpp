#include "source/zarr/variable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/nearest_name.h"
#include "source/zarr/fill_value.h"
#include "source/zarr/time_array.h"

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

// A mark is compared with what is stored, so it is rounded as that was: 1e20 and 0.1 are no float32. Nothing,
// where the type cannot hold it: then it never occurs.
std::optional<double> as_stored(double value, DType dtype) {
  const bool is_bool = dtype == DType::kBool && (value == 0 || value == 1);
  const nlohmann::json number = is_bool ? nlohmann::json(value == 1) : nlohmann::json(value);
  const auto element = read_fill_value(&number, dtype, 3, "");
  const auto stored = element ? fill_value_number(&number, *element, dtype) : std::nullopt;
  return stored && std::isfinite(*stored) == std::isfinite(value) ? stored : std::nullopt;
}

Result<double> attribute(const ZarrArray& array, const char* name, double otherwise) {
  const auto found = array.attributes.find(name);
  if (found == array.attributes.end()) return otherwise;
  const nlohmann::json& value = found->is_array() && found->size() == 1 ? found->front() : *found;
  const auto number = number_of(value);
  if (!number || !std::isfinite(*number))
    return fail(ErrorCode::kUnsupported,
                fmt::format("attribute {} is {}, not a number", name, found->dump().substr(0, 80)),
                {array.data->uri(), -1, -1, -1});
  return *number;
}

// The axis that is meant, by name or number.
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

// NetCDF 3 had no unsigned numbers, and this attribute said which ones are meant to be.
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

// By name, or by number where the dimension has none.
bool is_meant(const std::string& dimension, const ZarrArray& array, std::size_t axis) {
  const bool has_name = axis < array.dimensions.size() && !array.dimensions[axis].empty();
  return dimension == (has_name ? array.dimensions[axis] : std::to_string(axis));
}

// From stored numbers to nanoseconds since 1970.
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

Result<std::shared_ptr<const ValueCoding>> coding_of(const ZarrArray& array, const ZarrOptions& options) {
  const DType dtype = array.data->spec().dtype;
  const bool is_float = dtype >= DType::kFloat16 && dtype <= DType::kFloat64;
  if (dtype >= DType::kComplex64 || array.time_unit) return nullptr;
  ValueCoding coding;
  bool is_packed = false;
  if (options.decode_cf) {
    PENSTOCK_CHECK(check_signedness(array));
    const auto scale = attribute(array, "scale_factor", 1), offset = attribute(array, "add_offset", 0);
    if (!scale) return std::unexpected(scale.error());
    if (!offset) return std::unexpected(offset.error());
    coding.scale = *scale;
    coding.offset = *offset;
    is_packed = coding.scale != 1 || coding.offset != 0;
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
        const auto mark = std::isnan(*number) ? std::nullopt : as_stored(*number, dtype);
        if (mark && std::ranges::find(coding.missing, *mark) == coding.missing.end())
          coding.missing.push_back(*mark);
      }
    }
    // xarray keeps the _FillValue of Zarr v2 in .zarray. A 0 there is what zarr-python writes by default, and
    // no mark, unless the variable is packed.
    const bool has_packing =
        array.attributes.contains("scale_factor") || array.attributes.contains("add_offset");
    const bool may_be_mark = has_packing || (array.attributes.contains("_ARRAY_DIMENSIONS") &&
                                             array.fill_value != 0.0 && dtype != DType::kBool);
    if (may_be_mark && coding.missing.empty() && array.fill_value && !std::isnan(*array.fill_value))
      coding.missing.push_back(*array.fill_value);
  }
  const bool replaces_nan = options.nan != ZarrOptions::Nan::kKeep && is_float;
  if (!is_packed && coding.missing.empty() && !replaces_nan) return nullptr;
  coding.missing_is_error = options.nan == ZarrOptions::Nan::kError;
  coding.instead_of_missing =
      options.nan == ZarrOptions::Nan::kReplace ? options.nan_value : std::numeric_limits<float>::quiet_NaN();
  return std::make_shared<const ValueCoding>(std::move(coding));
}

Result<Variable> make_variable(ZarrArray array, Coordinates* coordinates, const ZarrOptions& options,
                               const std::string& uri) {
  Variable variable;
  const auto axis = axis_named(array, options.sample_dim, uri);
  if (!axis) return std::unexpected(axis.error());
  variable.sample_axis = *axis;
  const Shape& shape = array.data->spec().shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Chosen chosen{IndexRuns(IndexRun{0, shape[d], 1}), false};
    for (const auto& [dimension, selection] : options.select) {
      if (!is_meant(dimension, array, d)) continue;
      auto selected = select_on_axis(selection, dimension, array, shape[d], coordinates, uri);
      if (!selected) return std::unexpected(std::move(selected).error());
      chosen = std::move(*selected);
    }
    for (const auto& [dimension, positions] : options.isel) {
      if (!is_meant(dimension, array, d)) continue;
      auto selected = select_by_position(positions, shape[d], dimension, uri);
      if (!selected) return std::unexpected(std::move(selected).error());
      chosen = std::move(*selected);
    }
    variable.taken.push_back(std::move(chosen));
  }
  if (options.decode_cf && claims_times(array)) {
    PENSTOCK_CHECK(decode_times(array));
    variable.is_time = true;
    variable.array = std::move(array);
    return variable;
  }
  auto coding = coding_of(array, options);
  if (!coding) return std::unexpected(std::move(coding).error());
  variable.coding = std::move(*coding);
  variable.array = std::move(array);
  return variable;
}

}  // namespace penstock
