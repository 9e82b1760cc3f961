#include "source/zarr/time/time_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "base/text/lower_case.h"
#include "source/zarr/time/date_text.h"

namespace penstock {
namespace {

constexpr std::int64_t kMicrosecond = 1'000, kMillisecond = 1'000'000, kSecond = 1'000'000'000,
                       kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array kUnits{
    Unit{"nanosecond", 1},
    Unit{"nanoseconds", 1},
    Unit{"microsecond", kMicrosecond},
    Unit{"microseconds", kMicrosecond},
    Unit{"microsec", kMicrosecond},
    Unit{"microsecs", kMicrosecond},
    Unit{"millisecond", kMillisecond},
    Unit{"milliseconds", kMillisecond},
    Unit{"millisec", kMillisecond},
    Unit{"millisecs", kMillisecond},
    Unit{"msec", kMillisecond},
    Unit{"msecs", kMillisecond},
    Unit{"ms", kMillisecond},
    Unit{"second", kSecond},
    Unit{"seconds", kSecond},
    Unit{"sec", kSecond},
    Unit{"secs", kSecond},
    Unit{"s", kSecond},
    Unit{"minute", kMinute},
    Unit{"minutes", kMinute},
    Unit{"min", kMinute},
    Unit{"mins", kMinute},
    Unit{"hour", kHour},
    Unit{"hours", kHour},
    Unit{"hr", kHour},
    Unit{"hrs", kHour},
    Unit{"h", kHour},
    Unit{"day", kDay},
    Unit{"days", kDay},
    Unit{"d", kDay},
};
constexpr std::array kNumpyUnits{
    Unit{"ns", 1},       Unit{"us", kMicrosecond}, Unit{"ms", kMillisecond}, Unit{"s", kSecond},
    Unit{"m", kMinute},  Unit{"h", kHour},         Unit{"D", kDay},          Unit{"W", 7 * kDay},
};

// Splits "hours since 1900-1-1 00:00" at the separate word "since".
struct UnitsText {
  std::string unit;
  std::string_view since;
};
std::optional<UnitsText> split_units(std::string_view text) {
  const auto next_word = [&]() -> std::string_view {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(word.size());
    return word;
  };
  const std::string unit = lower_case(std::string(next_word()));
  if (unit.empty() || lower_case(std::string(next_word())) != "since") return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (text.empty()) return std::nullopt;
  return UnitsText{unit, text};
}

Result<std::int64_t> unit_nanoseconds(const std::string& unit, Calendar calendar) {
  if (const auto* known = std::ranges::find(kUnits, unit, &Unit::name); known != kUnits.end())
    return known->nanoseconds;
  const bool are_months = unit == "month" || unit == "months";
  if (are_months && calendar == Calendar::k360Day) return 30 * kDay;
  if ((unit == "common_year" || unit == "common_years") && calendar == Calendar::kNoLeap) return 365 * kDay;
  const bool are_years = unit.starts_with("year") || unit.starts_with("common_year");
  if (are_months || are_years)
    return fail(ErrorCode::kUnsupported,
                fmt::format("times in \"{}\" have no fixed length in the calendar \"{}\"", unit,
                            name_of(calendar)));
  return fail(ErrorCode::kUnsupported,
              fmt::format("times in \"{}\" are not known; known are days, hours, minutes, seconds, "
                          "milliseconds, microseconds and nanoseconds",
                          unit.substr(0, 60)));
}

// Whether 1970 plus this many nanoseconds fits 64 bits of microseconds, which is the range of cftime.
bool is_in_range(__int128 nanoseconds) {
  constexpr __int128 kMax = static_cast<__int128>(std::numeric_limits<std::int64_t>::max()) * kMicrosecond;
  return nanoseconds <= kMax && nanoseconds >= -kMax;
}

bool fits_numpy(__int128 nanoseconds) {
  return nanoseconds > std::numeric_limits<std::int64_t>::min() &&
         nanoseconds <= std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::optional<Moment> TimeUnits::decode(std::int64_t count) const {
  const __int128 passed = static_cast<__int128>(count) * nanoseconds;
  if (!is_in_range(passed) || !is_in_range(nanoseconds_between({}, since) + passed)) return std::nullopt;
  return add_nanoseconds(since, passed);
}

TimeUnits::Fractions TimeUnits::fractions_for(double least, double most) const {
  const bool is_gregorian = calendar == Calendar::kStandard || calendar == Calendar::kProlepticGregorian;
  const auto fits = [&](double count) {
    const double passed = count * static_cast<double>(nanoseconds);
    constexpr double kMax = 9.2233720368547e18;
    return std::abs(passed) < kMax &&
           fits_numpy(nanoseconds_between({}, since) + static_cast<__int128>(passed));
  };
  return is_gregorian && fits(0) && fits(least) && fits(most) ? Fractions::kTruncateToNanoseconds
                                                              : Fractions::kRoundToMicroseconds;
}

std::optional<Moment> TimeUnits::decode(double count, Fractions fractions) const {
  constexpr double kMaxPassed = 9.2e18;  // microseconds, slightly less than 64 bits hold
  if (!(std::abs(count) * (static_cast<double>(nanoseconds) / kMicrosecond) < kMaxPassed)) return std::nullopt;
  if (fractions == Fractions::kTruncateToNanoseconds || nanoseconds < kMicrosecond)
    return add_nanoseconds(since, static_cast<__int128>(count * static_cast<double>(nanoseconds)));
  // cftime computes in long double and moves a time that is a microsecond off a full second there, if that is
  // nearer than the next microsecond.
  const long double passed = static_cast<long double>(count) * static_cast<long double>(nanoseconds / kMicrosecond);
  auto microseconds = static_cast<std::int64_t>(std::rint(passed));
  if (nanoseconds >= kSecond) {
    const std::int64_t of_second = (microseconds % 1'000'000 + 1'000'000) % 1'000'000;
    if (of_second == 1) microseconds = static_cast<std::int64_t>(std::floor(passed));
    if (of_second == 999'999) microseconds = static_cast<std::int64_t>(std::ceil(passed));
  }
  const __int128 whole = static_cast<__int128>(microseconds) * kMicrosecond;
  if (!is_in_range(nanoseconds_between({}, since) + whole)) return std::nullopt;
  return add_nanoseconds(since, whole);
}

bool are_time_units(std::string_view units) { return split_units(units).has_value(); }

Result<TimeUnits> parse_time_units(std::string_view units, std::string_view calendar) {
  const auto known = parse_calendar(calendar);
  if (!known) return std::unexpected(known.error());
  const auto text = split_units(units);
  if (!text)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("units \"{}\" are no times: wants \"hours since 1900-01-01\"", units.substr(0, 60)));
  const auto nanoseconds = unit_nanoseconds(text->unit, *known);
  if (!nanoseconds) return std::unexpected(nanoseconds.error());
  const auto since = parse_date(text->since, *known);
  if (!since) return std::unexpected(since.error());
  return TimeUnits{*known, since->begin, *nanoseconds};
}

std::optional<TimeUnits> numpy_time_units(std::string_view unit) {
  std::int64_t factor = 1;
  if (!unit.empty() && unit.front() >= '0' && unit.front() <= '9') {
    const auto [end, error] = std::from_chars(unit.data(), unit.data() + unit.size(), factor);
    if (error != std::errc()) return std::nullopt;
    unit.remove_prefix(static_cast<std::size_t>(end - unit.data()));
  }
  const auto* known = std::ranges::find(kNumpyUnits, unit, &Unit::name);
  if (known == kNumpyUnits.end()) return std::nullopt;
  const auto nanoseconds = checked_multiply(factor, known->nanoseconds);
  if (!nanoseconds) return std::nullopt;
  return TimeUnits{Calendar::kProlepticGregorian, {}, *nanoseconds};
}

}  // namespace penstock
