#include "format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace penstock::cli {

std::string with_commas(double number) {
  const std::string digits = fmt::format("{:.0f}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0 && digits[i - 1] != '-') text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_seconds(double seconds) {
  if (seconds <= 0) return "0 ms";
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.01) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

std::string format_percent(double share) {
  if (share > 0 && share < 0.01) return "< 1 %";
  if (share < 1 && share > 0.99) return "99 %";
  return fmt::format("{:.0f} %", share * 100);
}

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return text;
}

}  // namespace penstock::cli
