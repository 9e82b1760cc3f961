// The calendars of the CF conventions, and moments in them.
//
// Years, days and refusals are those of cftime, which is what xarray decodes such times with: the standard
// calendar is Julian up to 1582-10-04 and Gregorian from 1582-10-15, and it has no year zero.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/result.h"

namespace penstock {

enum class Calendar : std::uint8_t {
  kStandard,  // "standard" and "gregorian"
  kProlepticGregorian,
  kJulian,
  kNoLeap,   // "noleap" and "365_day"
  kAllLeap,  // "all_leap" and "366_day"
  k360Day,
};

std::string_view name_of(Calendar calendar);

// By its CF name, in any case of letters; the empty name is the standard calendar.
Result<Calendar> parse_calendar(std::string_view name);

// A point in time, exactly. Two moments can be compared where their calendars count the same days: the
// first three calendars do so among each other, every other one only with itself.
struct Moment {
  std::int64_t seconds = 0;  // since 1970-01-01 00:00; for kJulian, since that day of the Gregorian calendar
  std::int32_t nanoseconds = 0;  // 0 to 999,999,999

  auto operator<=>(const Moment&) const = default;
};

// Do moments of these two calendars count the same days?
bool have_common_days(Calendar a, Calendar b);

struct Date {
  std::int64_t year = 1970;
  int month = 1, day = 1;

  bool operator==(const Date&) const = default;
};

// Days since 1970-01-01 (see Moment). Fails where the calendar has no such day.
Result<std::int64_t> day_number(Calendar calendar, const Date& date);
Date date_of_day(Calendar calendar, std::int64_t day);

// The first day of the month, or of the year, after that of `date`.
Date next_month(Calendar calendar, const Date& date);
Date next_year(Calendar calendar, const Date& date);

// `nanoseconds` may be anything; the moment need not be normalised otherwise.
Moment add_nanoseconds(const Moment& moment, __int128 nanoseconds);
__int128 nanoseconds_between(const Moment& from, const Moment& to);
double seconds_between(const Moment& from, const Moment& to);

// As numpy.datetime64[ns] counts; nothing beyond what 64 bits hold (1677-09-21 to 2262-04-11).
std::optional<std::int64_t> nanoseconds_since_1970(const Moment& moment);

// "2019-03-01T12:00:00", with a fraction where there is one.
std::string to_text(Calendar calendar, const Moment& moment);

}  // namespace penstock
