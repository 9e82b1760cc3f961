#include "source/zarr/metadata/zarr_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace penstock {
namespace {

struct TypeCode {
  std::string_view code;
  DType dtype;
};
constexpr TypeCode kCodes[] = {
    {"b1", DType::kBool},      {"u1", DType::kUInt8},       {"i1", DType::kInt8},    {"u2", DType::kUInt16},
    {"i2", DType::kInt16},     {"u4", DType::kUInt32},      {"i4", DType::kInt32},   {"u8", DType::kUInt64},
    {"i8", DType::kInt64},     {"f2", DType::kFloat16},     {"f4", DType::kFloat32}, {"f8", DType::kFloat64},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

constexpr std::string_view kTimeUnits[] = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                           "ms", "us", "ns", "ps", "fs", "as", "generic"};

constexpr std::string_view kSupportedTypes = "only numbers, bool and dates are";

bool is_time_unit(std::string_view unit) {
  return std::ranges::find(kTimeUnits, unit) != std::end(kTimeUnits);
}

// Parses "[ns]" or "[10s]" at the end of "M8[ns]"; if it is absent, the unit is unknown.
std::optional<std::string> bracketed_unit(std::string_view text) {
  if (text.empty()) return "generic";
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string_view unit = text;
  unit.remove_prefix(std::min(unit.find_first_not_of("0123456789"), unit.size()));
  if (!is_time_unit(unit) || text.size() > 20) return std::nullopt;
  return std::string(text);
}

}  // namespace

std::optional<ZarrType> numpy_type(std::string_view text) {
  if (const auto named = dtype_named(text)) return ZarrType{{*named, false}, {}, false};
  char order = '<';
  if (!text.empty() && std::string_view("<>|=").contains(text[0])) {
    order = text[0];
    text.remove_prefix(1);
  }
  ZarrType type;
  if (text.starts_with("M8") || text.starts_with("m8")) {
    type.stored.dtype = DType::kInt64;
    type.is_duration = text.starts_with("m8");
    type.time_unit = bracketed_unit(text.substr(2));
    if (!type.time_unit) return std::nullopt;
  } else {
    const auto row = std::ranges::find(kCodes, text, &TypeCode::code);
    if (row == std::end(kCodes)) return std::nullopt;
    type.stored.dtype = row->dtype;
  }
  const bool has_order = size_of(type.stored.dtype) > 1;
  if (has_order && order == '|') return std::nullopt;
  type.stored.big_endian = has_order && order == '>';
  return type;
}

Result<ZarrType> read_v2_type(const Json* dtype, const std::string& uri) {
  if (dtype == nullptr) return bad_metadata(ErrorCode::kCorrupt, "dtype is missing", uri);
  if (dtype->is_array())
    return bad_metadata(ErrorCode::kUnsupported,
                        fmt::format("structured dtype {} is not read: {}", short_text(*dtype), kSupportedTypes),
                        uri);
  if (!dtype->is_string()) return bad_metadata(ErrorCode::kCorrupt, "dtype is not a string", uri);
  const std::string& text = dtype->get_ref<const std::string&>();
  if (auto type = numpy_type(text)) return *std::move(type);
  if (text.size() > 1 && text[1] == 'O')
    return bad_metadata(ErrorCode::kUnsupported,
                        "dtype " + short_text(*dtype) + ": Python objects are never read", uri);
  return bad_metadata(ErrorCode::kUnsupported,
                      fmt::format("dtype {} is not read: {}", short_text(*dtype), kSupportedTypes), uri);
}

Result<ZarrType> read_v3_type(const Json* data_type, const std::string& uri) {
  const auto named = read_named(data_type, "data_type", uri);
  if (!named) return std::unexpected(named.error());
  if (const auto dtype = dtype_named(named->name)) return ZarrType{{*dtype, false}, {}, false};
  if (named->name != "numpy.datetime64" && named->name != "numpy.timedelta64")
    return bad_metadata(ErrorCode::kUnsupported,
                        fmt::format("data type {} is not read: {}", short_text(named->name), kSupportedTypes),
                        uri);
  const Json* unit = find_member(named->configuration, "unit");
  const Json* factor = find_member(named->configuration, "scale_factor");
  std::int64_t scale = 1;
  if (factor != nullptr) {
    const auto number = read_whole_number(*factor, "scale_factor", 1, uri);
    if (!number) return std::unexpected(number.error());
    scale = *number;
  }
  std::string name = unit != nullptr && unit->is_string() ? unit->get<std::string>() : std::string();
  if (name == "μs") name = "us";
  if (!is_time_unit(name))
    return bad_metadata(
        ErrorCode::kUnsupported,
        fmt::format("{} with unit {}", named->name, unit == nullptr ? "none" : short_text(*unit)), uri);
  return ZarrType{{DType::kInt64, false},
                  scale == 1 ? name : fmt::format("{}{}", scale, name),
                  named->name == "numpy.timedelta64"};
}

}  // namespace penstock
