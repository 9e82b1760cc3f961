// Parses dates as people write them. Thread-safe.
#pragma once

#include <string_view>

#include "source/zarr/time/calendar.h"

namespace penstock {

// The finest part of a date that was written out.
enum class DateResolution : std::uint8_t {
  kYear,
  kMonth,
  kDay,
  kHour,
  kMinute,
  kSecond,
  kMillisecond,
  kMicrosecond,
  kNanosecond,
};

// The period that a date means: "2019-03" is a month, "2019-03-01T12:00" a minute.
struct Period {
  Moment begin, end;  // the end is the beginning of the next period
  DateResolution resolution = DateResolution::kYear;
};

// Accepts ISO 8601 and the extensions of cftime: numbers need no leading zeros ("1800-1-1 00:00:0.0"), a space may
// replace the T, and years may be negative. A time zone ("Z", "UTC", "+01:00") is converted to UTC. Fails if the
// calendar has no such day.
Result<Period> parse_date(std::string_view text, Calendar calendar);

}  // namespace penstock
