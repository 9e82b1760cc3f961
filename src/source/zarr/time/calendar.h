// The calendars of the CF conventions, and moments in them. All functions are thread-safe.
//
// Years, days and refusals are those of cftime, with which xarray decodes such times: the standard calendar is
// Julian up to 1582-10-04 and Gregorian from 1582-10-15, and it has no year zero.
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

// Finds a calendar by its CF name, in any case. The empty name is the standard calendar.
Result<Calendar> parse_calendar(std::string_view name);

// An exact point in time. Moments can be compared if their calendars count the same days: the first three
// calendars do so with one another, and every other one only with itself.
struct Moment {
  std::int64_t seconds = 0;  // since 1970-01-01 00:00; for kJulian, since that day of the Gregorian calendar
  std::int32_t nanoseconds = 0;  // 0 to 999,999,999

  auto operator<=>(const Moment&) const = default;
};

// Whether moments of the two calendars can be compared.
bool have_common_days(Calendar a, Calendar b);

struct Date {
  std::int64_t year = 1970;
  int month = 1, day = 1;

  bool operator==(const Date&) const = default;
};

// Days since 1970-01-01 (see Moment). Fails if the calendar has no such day.
Result<std::int64_t> day_number(Calendar calendar, const Date& date);
Date date_of_day(Calendar calendar, std::int64_t day);

// The first day of the month, or of the year, that follows `date`.
Date next_month(Calendar calendar, const Date& date);
Date next_year(Calendar calendar, const Date& date);

// `nanoseconds` may be any number. `moment` need not be normalised; the result is.
Moment add_nanoseconds(const Moment& moment, __int128 nanoseconds);
__int128 nanoseconds_between(const Moment& from, const Moment& to);
double seconds_between(const Moment& from, const Moment& to);

// The count of numpy.datetime64[ns]; nullopt outside the range of 64 bits (1677-09-21 to 2262-04-11).
std::optional<std::int64_t> nanoseconds_since_1970(const Moment& moment);

// "2019-03-01T12:00:00", with the fraction of a second unless it is 0.
std::string to_text(Calendar calendar, const Moment& moment);

}  // namespace penstock
