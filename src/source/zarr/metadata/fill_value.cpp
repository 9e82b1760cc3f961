#include "source/zarr/metadata/fill_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/numbers/half_float.h"

namespace penstock {
namespace {

// The type of the parts of a complex number; any other type is returned unchanged.
DType part_of(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

template <typename T>
bool put(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof(T));
  return true;
}

// The upper half of a float, rounded to even; the quiet bit ensures that a NaN stays one.
std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

bool put_real(std::byte* out, DType dtype, double value) {
  if (dtype == DType::kFloat16) return put(out, double_to_half(value));
  if (dtype == DType::kBFloat16) return put(out, bfloat16_bits(static_cast<float>(value)));
  if (dtype == DType::kFloat32) return put(out, static_cast<float>(value));
  return put(out, value);
}

template <typename T>
bool put_integer(std::byte* out, const Json& value) {
  if (value.is_number_float()) {  // such as 0.0 for an integer array; the bounds are exact in a double
    const double real = value.get<double>();
    constexpr double kEnd =
        2.0 * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<T>::digits - 1));
    if (real != std::trunc(real) || real >= kEnd) return false;
    if (real < static_cast<double>(std::numeric_limits<T>::min())) return false;
    return put(out, static_cast<T>(real));
  }
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return std::in_range<T>(number) && put(out, static_cast<T>(number));
  }
  const auto number = value.get<std::int64_t>();
  return std::in_range<T>(number) && put(out, static_cast<T>(number));
}

// Parses "0x7fc00000": in version 3, all bits of a float.
bool put_bits(std::byte* out, std::size_t size, std::string_view digits) {
  std::uint64_t bits = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, bits, 16);
  if (digits.size() != 2 * size || error != std::errc{} || stop != end) return false;
  std::memcpy(out, &bits, size);  // the low bytes come first, since the machine is little-endian
  return true;
}

bool put_real_text(std::byte* out, DType dtype, std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return put_real(out, dtype, std::numeric_limits<double>::quiet_NaN());
  if (text == "Infinity") return put_real(out, dtype, kInfinity);
  if (text == "-Infinity") return put_real(out, dtype, -kInfinity);
  return text.starts_with("0x") && put_bits(out, size_of(dtype), text.substr(2));
}

bool put_value(std::byte* out, DType dtype, const Json& value) {
  switch (dtype) {
    case DType::kBool:
      if (value.is_boolean()) return put(out, static_cast<std::uint8_t>(value.get<bool>()));
      return put_integer<std::uint8_t>(out, value) && static_cast<std::uint8_t>(*out) <= 1;
    case DType::kUInt8: return put_integer<std::uint8_t>(out, value);
    case DType::kInt8: return put_integer<std::int8_t>(out, value);
    case DType::kUInt16: return put_integer<std::uint16_t>(out, value);
    case DType::kInt16: return put_integer<std::int16_t>(out, value);
    case DType::kUInt32: return put_integer<std::uint32_t>(out, value);
    case DType::kInt32: return put_integer<std::int32_t>(out, value);
    case DType::kUInt64: return put_integer<std::uint64_t>(out, value);
    case DType::kInt64:
      // Not-a-time (NaT).
      if (value.is_string() && value.get_ref<const std::string&>() == "NaT")
        return put(out, std::numeric_limits<std::int64_t>::min());
      return put_integer<std::int64_t>(out, value);
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      if (value.is_string()) return put_real_text(out, dtype, value.get_ref<const std::string&>());
      return value.is_number() && put_real(out, dtype, value.get<double>());
    case DType::kComplex64:
    case DType::kComplex128: break;
  }
  const DType part = part_of(dtype);
  if (value.is_number()) return put_real(out, part, value.get<double>());
  if (!value.is_array() || value.size() != 2) return false;
  return put_value(out, part, value[0]) && put_value(out + size_of(part), part, value[1]);
}

template <typename T>
double number_at(const std::byte* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof(T));
  return static_cast<double>(number);
}

// Decodes base64 (RFC 4648 with padding); nullopt if it does not encode exactly `size` bytes.
bool put_base64(std::byte* out, std::size_t size, std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() != (size + 2) / 3 * 4) return false;
  const std::size_t letters = (size * 8 + 5) / 6;
  std::uint32_t bits = 0;
  int held = 0;
  std::size_t written = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto value = kAlphabet.find(text[at]);
    if (at >= letters ? text[at] != '=' : value == kAlphabet.npos) return false;
    if (at >= letters) continue;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out[written++] = static_cast<std::byte>(bits >> held);
    bits &= (1u << held) - 1;
  }
  return bits == 0;
}

}  // namespace

Result<FillValue> read_fill_value(const Json* value, DType dtype, int zarr_version, const std::string& uri) {
  FillValue fill;
  if (value == nullptr || value->is_null()) {
    if (zarr_version == 2) return fill;
    return bad_metadata(ErrorCode::kCorrupt, "fill_value is missing", uri);
  }
  if (put_value(fill.bytes.data(), dtype, *value)) return fill;
  fill = {};
  if (zarr_version == 2 && value->is_string() &&
      put_base64(fill.bytes.data(), size_of(dtype), value->get_ref<const std::string&>()))
    return fill;
  return bad_metadata(ErrorCode::kCorrupt,
                      fmt::format("fill_value {} is not a valid {}", short_text(*value), name_of(dtype)), uri);
}

std::optional<double> fill_value_number(const Json* value, const FillValue& fill, DType dtype) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  const std::byte* bytes = fill.bytes.data();
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return number_at<std::uint8_t>(bytes);
    case DType::kInt8: return number_at<std::int8_t>(bytes);
    case DType::kUInt16: return number_at<std::uint16_t>(bytes);
    case DType::kInt16: return number_at<std::int16_t>(bytes);
    case DType::kUInt32: return number_at<std::uint32_t>(bytes);
    case DType::kInt32: return number_at<std::int32_t>(bytes);
    case DType::kUInt64: return number_at<std::uint64_t>(bytes);
    case DType::kInt64: return number_at<std::int64_t>(bytes);
    case DType::kFloat16: {
      std::uint16_t half;
      std::memcpy(&half, bytes, sizeof(half));
      return half_to_double(half);
    }
    case DType::kBFloat16: {
      std::uint32_t bits = 0;
      std::memcpy(reinterpret_cast<std::byte*>(&bits) + 2, bytes, 2);
      return std::bit_cast<float>(bits);
    }
    case DType::kFloat32: return number_at<float>(bytes);
    case DType::kFloat64: return number_at<double>(bytes);
    case DType::kComplex64:
    case DType::kComplex128: break;
  }
  return std::nullopt;
}

void fill_elements(const FillValue& value, DType dtype, bool swap_bytes, MutableBytes out) {
  const std::size_t size = size_of(dtype), part = size_of(part_of(dtype));
  auto element = value.bytes;
  if (swap_bytes)
    for (std::size_t at = 0; at < size; at += part)
      std::reverse(element.begin() + at, element.begin() + at + part);
  const bool one_byte =
      std::all_of(element.begin(), element.begin() + size, [&](std::byte b) { return b == element[0]; });
  if (one_byte) {
    std::fill(out.begin(), out.end(), element[0]);
    return;
  }
  // The filled part is copied behind itself, so it doubles in each step.
  std::size_t done = std::min(size, out.size());
  std::copy_n(element.begin(), done, out.begin());
  while (done < out.size()) {
    const std::size_t more = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), more);
    done += more;
  }
}

}  // namespace penstock
