#include "sizes.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace penstock::cli {
namespace {

constexpr double kMax = 9.2e18;  // the largest number of 63 bits, roughly

constexpr std::array<std::pair<std::string_view, double>, 14> kUnits = {{
    {"", 1},
    {"b", 1},
    {"k", 1e3},
    {"kb", 1e3},
    {"m", 1e6},
    {"mb", 1e6},
    {"g", 1e9},
    {"gb", 1e9},
    {"t", 1e12},
    {"tb", 1e12},
    {"kib", 1024.0},
    {"mib", 1048576.0},
    {"gib", 1073741824.0},
    {"tib", 1099511627776.0},
}};

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  std::string unit;
  for (const char* c = end; c != text.data() + text.size(); ++c)
    if (*c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  for (const auto& [name, factor] : kUnits)
    if (unit == name && number * factor >= 1 && number * factor < kMax)
      return static_cast<std::uint64_t>(number * factor);
  return std::nullopt;
}

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 5> units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  const bool whole =
      unit == 0 || bytes >= 100 || bytes == static_cast<double>(static_cast<std::int64_t>(bytes));
  return whole ? fmt::format("{:.0f} {}", bytes, units[unit]) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

CLI::Option* add_size_option(CLI::App& app, const std::string& name, std::uint64_t& target,
                             const std::string& description) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name](const std::string& text) {
            const auto bytes = parse_bytes(text);
            if (!bytes)
              throw CLI::ValidationError(fmt::format(
                  "{} \"{}\": wants a size such as 12GiB, 500MB or a number of bytes", name, text));
            target = *bytes;
          },
          description)
      ->type_name("SIZE");
}

}  // namespace penstock::cli
