#include "source/zarr/time/calendar.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/text/lower_case.h"

namespace penstock {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

// Later years are refused; the limit of cftime is the 292,471 years that 64 bits of microseconds can hold.
constexpr std::int64_t kMaxYear = 1'000'000;

struct CalendarName {
  std::string_view name;
  Calendar calendar;
};
constexpr std::array kNames{
    CalendarName{"standard", Calendar::kStandard},
    CalendarName{"proleptic_gregorian", Calendar::kProlepticGregorian},
    CalendarName{"julian", Calendar::kJulian},
    CalendarName{"noleap", Calendar::kNoLeap},
    CalendarName{"all_leap", Calendar::kAllLeap},
    CalendarName{"360_day", Calendar::k360Day},
    // Other names for the same.
    CalendarName{"gregorian", Calendar::kStandard},
    CalendarName{"365_day", Calendar::kNoLeap},
    CalendarName{"366_day", Calendar::kAllLeap},
};

template <typename Integer>
constexpr Integer floor_divide(Integer a, Integer b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

bool has_year_zero(Calendar calendar) {
  return calendar != Calendar::kStandard && calendar != Calendar::kJulian;
}

// Computes with a year zero: the year -1 of a calendar without one becomes 0.
std::int64_t counted_year(Calendar calendar, std::int64_t year) {
  return year < 0 && !has_year_zero(calendar) ? year + 1 : year;
}

std::int64_t named_year(Calendar calendar, std::int64_t counted) {
  return counted <= 0 && !has_year_zero(calendar) ? counted - 1 : counted;
}

// Whether the beginning of this month lies in the Julian part of the calendar, as that of October 1582 does.
bool is_julian(Calendar calendar, std::int64_t counted, int month) {
  if (calendar == Calendar::kJulian) return true;
  return calendar == Calendar::kStandard && (counted < 1582 || (counted == 1582 && month <= 10));
}

bool is_leap(Calendar calendar, std::int64_t counted) {
  switch (calendar) {
    case Calendar::kNoLeap:
    case Calendar::k360Day: return false;
    case Calendar::kAllLeap: return true;
    default: break;
  }
  if (counted % 4 != 0) return false;
  return is_julian(calendar, counted, 1) || counted % 100 != 0 || counted % 400 == 0;
}

int days_of_month(Calendar calendar, std::int64_t counted, int month) {
  constexpr std::array kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (calendar == Calendar::k360Day) return 30;
  if (month == 2 && is_leap(calendar, counted)) return 29;
  return kDays[static_cast<std::size_t>(month - 1)];
}

// The number of days from the beginning of the year to that of the month, as if 1582 were a complete year.
std::int64_t days_before_month(Calendar calendar, std::int64_t counted, int month) {
  std::int64_t days = 0;
  for (int m = 1; m < month; ++m) days += days_of_month(calendar, counted, m);
  return days;
}

// The number of the first day of a month, without checking that the calendar has that day.
std::int64_t first_day(Calendar calendar, std::int64_t counted, int month) {
  const std::int64_t in_year = days_before_month(calendar, counted, month);
  switch (calendar) {
    case Calendar::kNoLeap: return (counted - 1970) * 365 + in_year;
    case Calendar::kAllLeap: return (counted - 1970) * 366 + in_year;
    case Calendar::k360Day: return (counted - 1970) * 360 + in_year;
    default: break;
  }
  const std::int64_t years = counted - 1;  // complete years since the beginning of year 1
  const std::int64_t days = years * 365 + floor_divide<std::int64_t>(years, 4) + in_year;
  // In the Gregorian calendar, 1970-01-01 is 719,162 days after 0001-01-01. The Gregorian 0001-01-01 is two days
  // after the Julian one.
  if (is_julian(calendar, counted, month)) return days - 719'164;
  return days - floor_divide<std::int64_t>(years, 100) + floor_divide<std::int64_t>(years, 400) - 719'162;
}

double days_per_year(Calendar calendar) {
  switch (calendar) {
    case Calendar::kNoLeap: return 365;
    case Calendar::kAllLeap: return 366;
    case Calendar::k360Day: return 360;
    default: return 365.2425;
  }
}

bool is_left_out(Calendar calendar, const Date& date) {
  return calendar == Calendar::kStandard && date.year == 1582 && date.month == 10 && date.day > 4 &&
         date.day < 15;
}

}  // namespace

std::string_view name_of(Calendar calendar) { return kNames[static_cast<std::size_t>(calendar)].name; }

Result<Calendar> parse_calendar(std::string_view name) {
  if (name.empty()) return Calendar::kStandard;
  const std::string wanted = lower_case(std::string(name));
  for (const CalendarName& known : kNames)
    if (known.name == wanted) return known.calendar;
  std::string names;
  for (const CalendarName& known : kNames)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  return fail(ErrorCode::kUnsupported,
              fmt::format("calendar \"{}\" is not known; known are {}", name.substr(0, 60), names));
}

bool have_common_days(Calendar a, Calendar b) {
  return a == b || (a <= Calendar::kJulian && b <= Calendar::kJulian);
}

Result<std::int64_t> day_number(Calendar calendar, const Date& date) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no {:04}-{:02}-{:02} in the calendar \"{}\": {}", date.year, date.month,
                            date.day, name_of(calendar), why));
  };
  if (date.year > kMaxYear || date.year < -kMaxYear) return refuse("the year is too far away");
  if (date.year == 0 && !has_year_zero(calendar)) return refuse("the year 1 follows the year -1");
  if (date.month < 1 || date.month > 12) return refuse("months are 1 to 12");
  const std::int64_t counted = counted_year(calendar, date.year);
  const int days = days_of_month(calendar, counted, date.month);
  if (date.day < 1 || date.day > days) return refuse(fmt::format("that month has {} days", days));
  if (is_left_out(calendar, date)) return refuse("1582-10-15 follows 1582-10-04");
  const bool is_after_break =
      calendar == Calendar::kStandard && date.year == 1582 && date.month == 10 && date.day >= 15;
  return first_day(calendar, counted, date.month) + date.day - 1 - (is_after_break ? 10 : 0);
}

Date date_of_day(Calendar calendar, std::int64_t day) {
  std::int64_t counted = 1970 + static_cast<std::int64_t>(static_cast<double>(day) / days_per_year(calendar));
  while (first_day(calendar, counted, 1) > day) --counted;
  while (first_day(calendar, counted + 1, 1) <= day) ++counted;
  int month = 12;
  while (first_day(calendar, counted, month) > day) --month;
  Date date{named_year(calendar, counted), month,
            static_cast<int>(day - first_day(calendar, counted, month)) + 1};
  if (calendar == Calendar::kStandard && date.year == 1582 && month == 10 && date.day > 4) date.day += 10;
  return date;
}

Date next_year(Calendar calendar, const Date& date) {
  return {named_year(calendar, counted_year(calendar, date.year) + 1), 1, 1};
}

Date next_month(Calendar calendar, const Date& date) {
  if (date.month == 12) return next_year(calendar, date);
  return {date.year, date.month + 1, 1};
}

Moment add_nanoseconds(const Moment& moment, __int128 nanoseconds) {
  const __int128 total = nanoseconds + moment.nanoseconds;
  const __int128 seconds = floor_divide<__int128>(total, kNanosecondsPerSecond);
  return {moment.seconds + static_cast<std::int64_t>(seconds),
          static_cast<std::int32_t>(total - seconds * kNanosecondsPerSecond)};
}

__int128 nanoseconds_between(const Moment& from, const Moment& to) {
  return (static_cast<__int128>(to.seconds) - from.seconds) * kNanosecondsPerSecond + to.nanoseconds -
         from.nanoseconds;
}

double seconds_between(const Moment& from, const Moment& to) {
  return static_cast<double>(to.seconds - from.seconds) + 1e-9 * (to.nanoseconds - from.nanoseconds);
}

std::optional<std::int64_t> nanoseconds_since_1970(const Moment& moment) {
  const __int128 total = nanoseconds_between({}, moment);
  // The lowest number is numpy's NaT.
  if (total <= std::numeric_limits<std::int64_t>::min() || total > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(total);
}

std::string to_text(Calendar calendar, const Moment& moment) {
  const std::int64_t day = floor_divide(moment.seconds, kSecondsPerDay);
  const std::int64_t second = moment.seconds - day * kSecondsPerDay;
  const Date date = date_of_day(calendar, day);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", date.year, date.month, date.day,
                                 second / 3600, second / 60 % 60, second % 60);
  if (moment.nanoseconds != 0) {
    text += fmt::format(".{:09}", moment.nanoseconds);
    text.resize(text.find_last_not_of('0') + 1);
  }
  return text;
}

}  // namespace penstock
