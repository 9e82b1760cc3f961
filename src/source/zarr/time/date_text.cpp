#include "source/zarr/time/date_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace penstock {
namespace {

constexpr std::int64_t kSecondsOfDay = 86'400;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  std::size_t digits() const {
    return static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_digit) - rest_.begin());
  }
  // Reads a number of one to `most` digits; nullopt if there are none, or more.
  std::optional<int> number(std::size_t most) {
    const std::size_t count = digits();
    if (count == 0 || count > most || count > 8) return std::nullopt;
    return take(count);
  }
  int take(std::size_t count) {
    int value = 0;
    std::from_chars(rest_.data(), rest_.data() + count, value);
    rest_.remove_prefix(count);
    return value;
  }
  bool skip(std::string_view any_of) {
    if (rest_.empty() || !any_of.contains(rest_.front())) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool skip_text(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void skip_spaces() {
    while (skip(" ")) continue;
  }
  char front() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The parts of a date as they were written, before the calendar checks them.
struct WrittenDate {
  Date date;
  std::int64_t second_of_day = 0;
  std::int32_t nanoseconds = 0;
  std::int64_t zone_seconds = 0;
  DateResolution resolution = DateResolution::kYear;
};

// Reads 19700101, or a year with its sign followed by month and day.
bool read_day(DateReader& reader, WrittenDate& out) {
  const bool is_negative = reader.front() == '-';
  reader.skip("+-");
  if (reader.digits() == 8) {
    out.date.year = reader.take(4);
    out.date.month = reader.take(2);
    out.date.day = reader.take(2);
    out.resolution = DateResolution::kDay;
    return !is_negative;
  }
  const auto year = reader.number(5);  // six digits would be a year and month without a hyphen
  if (!year) return false;
  out.date.year = is_negative ? -*year : *year;
  if (!reader.skip("-")) return true;
  const auto month = reader.number(2);
  if (!month) return false;
  out.date.month = *month;
  out.resolution = DateResolution::kMonth;
  if (!reader.skip("-")) return true;
  const auto day = reader.number(2);
  if (!day) return false;
  out.date.day = *day;
  out.resolution = DateResolution::kDay;
  return true;
}

bool read_fraction(DateReader& reader, WrittenDate& out) {
  const std::size_t digits = reader.digits();
  if (digits == 0) return false;
  std::int32_t digit_nanoseconds = 100'000'000;
  for (std::size_t i = 0; i < digits; ++i, digit_nanoseconds /= 10)
    out.nanoseconds += digit_nanoseconds * reader.take(1);
  out.resolution = digits <= 3   ? DateResolution::kMillisecond
                   : digits <= 6 ? DateResolution::kMicrosecond
                                 : DateResolution::kNanosecond;
  return true;
}

bool read_time(DateReader& reader, WrittenDate& out) {
  const auto hour = reader.number(2);
  if (!hour || *hour > 23) return false;
  out.second_of_day = *hour * 3600;
  out.resolution = DateResolution::kHour;
  if (!reader.skip(":")) return true;
  const auto minute = reader.number(2);
  if (!minute || *minute > 59) return false;
  out.second_of_day += *minute * 60;
  out.resolution = DateResolution::kMinute;
  if (!reader.skip(":")) return true;
  const auto second = reader.number(2);
  if (!second || *second > 59) return false;
  out.second_of_day += *second;
  out.resolution = DateResolution::kSecond;
  return !reader.skip(".") || read_fraction(reader, out);
}

// Reads "+01:00", "-0330", "+1", or "0:00", which udunits writes without a sign.
bool read_zone(DateReader& reader, WrittenDate& out) {
  for (const std::string_view name : {"Z", "z", "UTC", "utc", "GMT"})
    if (reader.skip_text(name)) return true;
  const char sign = reader.front();
  const bool has_sign = reader.skip("+-");
  int hours = 0, minutes = 0;
  if (reader.digits() == 4) {
    hours = reader.take(2);
    minutes = reader.take(2);
  } else {
    const auto number = reader.number(2);
    if (!number) return false;
    hours = *number;
    if (reader.skip(":")) {
      const auto more = reader.number(2);
      if (!more) return false;
      minutes = *more;
    }
  }
  if (hours > 23 || minutes > 59 || (!has_sign && hours + minutes != 0)) return false;
  out.zone_seconds = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  return true;
}

std::optional<WrittenDate> read_date(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  DateReader reader(text);
  reader.skip_spaces();
  WrittenDate written;
  if (!read_day(reader, written)) return std::nullopt;
  if (written.resolution == DateResolution::kDay) {
    const bool must_have_time = reader.skip("Tt");
    reader.skip_spaces();
    if ((must_have_time || is_digit(reader.front())) && !read_time(reader, written)) return std::nullopt;
    reader.skip_spaces();
  }
  const bool may_have_zone = written.resolution >= DateResolution::kDay;
  if (!reader.at_end() && !(may_have_zone && read_zone(reader, written))) return std::nullopt;
  if (!reader.at_end()) return std::nullopt;
  return written;
}

std::int64_t nanoseconds_of(DateResolution resolution) {
  switch (resolution) {
    case DateResolution::kHour: return 3'600'000'000'000;
    case DateResolution::kMinute: return 60'000'000'000;
    case DateResolution::kSecond: return 1'000'000'000;
    case DateResolution::kMillisecond: return 1'000'000;
    case DateResolution::kMicrosecond: return 1'000;
    case DateResolution::kNanosecond: return 1;
    default: return kSecondsOfDay * 1'000'000'000;
  }
}

}  // namespace

Result<Period> parse_date(std::string_view text, Calendar calendar) {
  const auto written = read_date(text);
  if (!written)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is not a date; wants 2019, 2019-03, 2019-03-01 or 2019-03-01T12:00",
                            text.substr(0, 60)));
  const auto day = day_number(calendar, written->date);
  if (!day) return std::unexpected(day.error());
  const auto moment = [&](std::int64_t of_day) {
    return Moment{of_day * kSecondsOfDay + written->second_of_day - written->zone_seconds,
                  written->nanoseconds};
  };
  Period period{moment(*day), {}, written->resolution};
  if (written->resolution <= DateResolution::kMonth) {
    const auto next = day_number(calendar, written->resolution == DateResolution::kYear
                                               ? next_year(calendar, written->date)
                                               : next_month(calendar, written->date));
    if (!next) return std::unexpected(next.error());
    period.end = moment(*next);
  } else {
    period.end = add_nanoseconds(period.begin, nanoseconds_of(written->resolution));
  }
  return period;
}

}  // namespace penstock
