#include "source/manifest/decimal_number.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace penstock {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// std::from_chars reports overflow and underflow alike. `digits` is the number without sign and exponent.
bool is_below_one(std::string_view digits, std::string_view exponent) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t leading = digits.find_first_not_of("0.");
  if (leading == std::string_view::npos) return true;
  std::int64_t power = leading < point ? static_cast<std::int64_t>(point - leading) - 1
                                       : -static_cast<std::int64_t>(leading - point);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t written = 0;
  const auto [end, error] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), written);
  if (error == std::errc::result_out_of_range) return exponent.starts_with('-');
  constexpr std::int64_t kMaxExponent = std::int64_t{1} << 40;
  power += std::clamp(written, -kMaxExponent, kMaxExponent);
  return power < 0;
}

}  // namespace

DecimalNumber parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::size_t begin = negative ? 1 : 0;
  const std::size_t whole_end = skip_digits(text, begin);
  const std::size_t whole_digits = whole_end - begin;
  if (whole_digits > 1 && text[begin] == '0') return {};

  const char* const last = text.data() + text.size();
  if (whole_end == text.size()) {
    if (whole_digits == 0) return {};
    std::int64_t integer = 0;
    if (const auto parsed = std::from_chars(text.data(), last, integer); parsed.ec == std::errc{})
      return {DecimalNumber::Kind::kInteger, integer, static_cast<double>(integer)};
  }

  std::size_t at = whole_end;
  if (at < text.size() && text[at] == '.') at = skip_digits(text, at + 1);
  const std::size_t digits_end = at;
  if (whole_digits == 0 && digits_end <= whole_end + 1) return {};  // empty, or a single point
  std::size_t exponent_at = at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    exponent_at = ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent_digits = at;
    at = skip_digits(text, at);
    if (at == exponent_digits) return {};
  }
  if (at != text.size()) return {};

  double real = 0;
  const auto parsed = std::from_chars(text.data(), last, real);
  if (parsed.ec == std::errc::result_out_of_range) {
    if (!is_below_one(text.substr(begin, digits_end - begin), text.substr(exponent_at))) return {};
    real = negative ? -0.0 : 0.0;
  } else if (parsed.ec != std::errc{} || parsed.ptr != last) {
    return {};
  }
  return {DecimalNumber::Kind::kReal, 0, real};
}

}  // namespace penstock
