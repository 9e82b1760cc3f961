#include "source/zarr/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "base/lower_case.h"
#include "source/read_array.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMostCoordinates = 100'000'000;

std::unexpected<Error> bad_selection(const std::string& dimension, std::string message,
                                     const std::string& uri) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("select {}: {}", dimension, message),
              {uri, -1, -1, -1});
}

// As Python's slice.indices().
Result<IndexRun> by_index(const IndexRange& range, const std::string& dimension, std::int64_t extent,
                          const std::string& uri) {
  if (range.step < 1) return bad_selection(dimension, fmt::format("step {}: at least 1", range.step), uri);
  const auto place = [&](std::optional<std::int64_t> index, std::int64_t otherwise) {
    if (!index) return otherwise;
    return std::clamp<std::int64_t>(*index < 0 ? *index + extent : *index, 0, extent);
  };
  const std::int64_t first = place(range.first, 0), end = place(range.end, extent);
  if (first >= end)
    return bad_selection(dimension, fmt::format("nothing is left of {} indexes", extent), uri);
  return IndexRun{first, (end - first + range.step - 1) / range.step, range.step};
}

// The run of coordinates within [from, to], or [from, to) where `to_is_open`. They rise or fall.
Result<IndexRun> by_value(const std::vector<double>& values, double from, double to, bool to_is_open,
                          const std::string& dimension, const std::string& uri) {
  const bool rises = std::ranges::is_sorted(values), falls = std::ranges::is_sorted(values, std::greater<>());
  if (!rises && !falls) return bad_selection(dimension, "its coordinates neither rise nor fall", uri);
  const auto is_in = [&](double value) { return value >= from && (to_is_open ? value < to : value <= to); };
  const auto first = std::ranges::find_if(values, is_in);
  auto end = first;
  while (end != values.end() && is_in(*end)) ++end;
  if (first == end)
    return bad_selection(dimension,
                         fmt::format("no coordinate is from {} to {}; they go from {} to {}", from, to,
                                     values.front(), values.back()),
                         uri);
  return IndexRun{first - values.begin(), end - first, 1};
}

double seconds_of_unit(std::string_view unit) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  if (unit == "D") return 86400;
  if (unit == "W") return 604800;
  return 0;
}

Result<TimeUnits> time_units_of(const ZarrArray& coordinate, const std::string& dimension,
                                const std::string& uri) {
  if (coordinate.time_unit) {
    const double seconds = seconds_of_unit(*coordinate.time_unit);
    if (seconds == 0)
      return bad_selection(
          dimension, fmt::format("times in \"{}\" cannot be selected by date", *coordinate.time_unit), uri);
    return TimeUnits{seconds, 0};
  }
  const auto text = [&](const char* name) -> std::string {
    const auto found = coordinate.attributes.find(name);
    return found != coordinate.attributes.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string units = text("units");
  if (units.empty()) return bad_selection(dimension, "its coordinates have no units: not a time", uri);
  auto parsed = parse_time_units(units, text("calendar"));
  if (!parsed) return bad_selection(dimension, parsed.error().message, uri);
  return parsed;
}

// Digits of a date, and what they are followed by.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  bool number(std::size_t digits, int& out) {
    if (rest_.size() < digits) return false;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + digits, out);
    if (error != std::errc() || end != rest_.data() + digits || rest_.front() == '-') return false;
    rest_.remove_prefix(digits);
    return true;
  }
  bool skip(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Of a second; and how long the last digit is.
  double fraction(double& digit) {
    double value = 0;
    if (!skip(".")) return value;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1)) {
      digit /= 10;
      value += digit * (rest_.front() - '0');
    }
    return value;
  }
  bool at_end() const { return rest_.empty() || rest_ == "Z" || rest_ == " UTC" || rest_ == "+00:00"; }

 private:
  std::string_view rest_;
};

double seconds_since_1970(std::chrono::year_month_day day) {
  return static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count()) * 86400.0;
}

Result<ZarrArray> coordinate_of(const DimensionOf& of, const ZarrNode& node) {
  std::string group = of.array;
  while (true) {
    const auto slash = group.rfind('/');
    group.resize(slash == std::string::npos ? 0 : slash);
    auto found = node.array(group.empty() ? of.name : group + "/" + of.name);
    if (found || found.error().code != ErrorCode::kNotFound || group.empty()) return found;
  }
}

}  // namespace

Result<Moments> parse_date(std::string_view text) {
  using namespace std::chrono;
  const auto bad = [&] {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is not a date; wants 2019, 2019-03, 2019-03-01 or 2019-03-01T12:00", text));
  };
  DateReader reader(text);
  int y = 0, m = 1, d = 1, hour = 0, minute = 0, second = 0;
  double fraction = 0, second_length = 1;
  if (!reader.number(4, y)) return bad();
  enum { kYear, kMonth, kDay, kHour, kMinute, kSecond } unit = kYear;
  if (reader.skip("-")) {
    // CF writes 1900-1-1 too.
    if (!reader.number(2, m) && !reader.number(1, m)) return bad();
    unit = kMonth;
    if (reader.skip("-")) {
      if (!reader.number(2, d) && !reader.number(1, d)) return bad();
      unit = kDay;
      if (reader.skip("T ")) {
        if (!reader.number(2, hour) && !reader.number(1, hour)) return bad();
        unit = kHour;
        if (reader.skip(":")) {
          if (!reader.number(2, minute)) return bad();
          unit = kMinute;
          if (reader.skip(":")) {
            if (!reader.number(2, second)) return bad();
            fraction = reader.fraction(second_length);
            unit = kSecond;
          }
        }
      }
    }
  }
  const year_month_day day{year(y), month(static_cast<unsigned>(m)),
                           std::chrono::day(static_cast<unsigned>(d))};
  if (!reader.at_end() || !day.ok() || hour > 24 || minute > 59 || second > 60) return bad();
  const double begin = seconds_since_1970(day) + hour * 3600.0 + minute * 60.0 + second + fraction;
  switch (unit) {
    case kYear: return Moments{begin, seconds_since_1970(year(y + 1) / 1 / 1)};
    case kMonth: {
      const year_month next = year(y) / month(static_cast<unsigned>(m)) + months(1);
      return Moments{begin, seconds_since_1970(next / 1)};
    }
    case kDay: return Moments{begin, begin + 86400};
    case kHour: return Moments{begin, begin + 3600};
    case kMinute: return Moments{begin, begin + 60};
    case kSecond: break;
  }
  return Moments{begin, begin + second_length};
}

Result<TimeUnits> parse_time_units(std::string_view text, std::string_view calendar) {
  const std::string days = lower_case(std::string(calendar));
  if (!days.empty() && days != "standard" && days != "gregorian" && days != "proleptic_gregorian")
    return fail(ErrorCode::kUnsupported, fmt::format("calendar \"{}\" is not known to dates", calendar));
  const auto since = text.find(" since ");
  if (since == std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument, fmt::format("units \"{}\" are no times", text));
  std::string unit = lower_case(std::string(text.substr(0, since)));
  if (unit.size() > 2 && unit.back() == 's') unit.pop_back();
  static const std::map<std::string, double, std::less<>> known = {
      {"second", 1},        {"sec", 1},       {"minute", 60},        {"min", 60},
      {"hour", 3600},       {"hr", 3600},     {"h", 3600},           {"day", 86400},
      {"d", 86400},         {"week", 604800}, {"millisecond", 1e-3}, {"microsecond", 1e-6},
      {"nanosecond", 1e-9}, {"s", 1}};
  const auto found = known.find(unit);
  if (found == known.end())
    return fail(ErrorCode::kUnsupported, fmt::format("times in \"{}\" are not known", text.substr(0, since)));
  const auto moment = parse_date(text.substr(since + 7));
  if (!moment) return std::unexpected(moment.error());
  return TimeUnits{found->second, moment->begin};
}

Result<IndexRun> select(const Selection& selection, const DimensionOf& of, const ZarrNode& node,
                        const std::string& uri) {
  const std::string& dimension = of.name;
  if (const auto* range = std::get_if<IndexRange>(&selection))
    return by_index(*range, dimension, of.extent, uri);
  if (node.is_array())
    return bad_selection(dimension, "an array alone has no coordinates; select by index, or open its group",
                         uri);
  const auto coordinate = coordinate_of(of, node);
  if (!coordinate && coordinate.error().code == ErrorCode::kNotFound)
    return bad_selection(dimension, "there is no array of its coordinates", uri);
  if (!coordinate) return std::unexpected(coordinate.error());
  if (coordinate->data->spec().shape != Shape{of.extent})
    return bad_selection(dimension, "the array of its coordinates has another shape", uri);
  const auto values = read_numbers(*coordinate->data, kMostCoordinates);
  if (!values) return std::unexpected(values.error());
  if (const auto* range = std::get_if<CoordinateRange>(&selection))
    return by_value(*values, std::min(range->from, range->to), std::max(range->from, range->to), false,
                    dimension, uri);
  const auto& dates = std::get<DateRange>(selection);
  const auto units = time_units_of(*coordinate, dimension, uri);
  if (!units) return std::unexpected(units.error());
  double from = -std::numeric_limits<double>::infinity(), to = std::numeric_limits<double>::infinity();
  if (!dates.from.empty()) {
    const auto moments = parse_date(dates.from);
    if (!moments) return bad_selection(dimension, moments.error().message, uri);
    from = (moments->begin - units->since) / units->seconds;
  }
  if (!dates.to.empty()) {
    const auto moments = parse_date(dates.to);
    if (!moments) return bad_selection(dimension, moments.error().message, uri);
    to = (moments->end - units->since) / units->seconds;
  }
  auto chosen = by_value(*values, from, to, true, dimension, uri);
  if (!chosen && !values->empty())
    return bad_selection(
        dimension,
        fmt::format("no time is from {} to {}", dates.from.empty() ? "the beginning" : dates.from,
                    dates.to.empty() ? "the end" : dates.to),
        uri);
  return chosen;
}

}  // namespace penstock
