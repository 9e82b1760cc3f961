// Dates as people write them.
#pragma once

#include <string_view>

#include "source/zarr/time/calendar.h"

namespace penstock {

// The last part of a date that was written out.
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

// The moments that a date may mean: "2019-03" is a month, "2019-03-01T12:00" a minute.
struct Period {
  Moment begin, end;  // the end is the beginning of the next one
  DateResolution resolution = DateResolution::kYear;
};

// ISO 8601, and what cftime reads besides: numbers need no leading zeros ("1800-1-1 00:00:0.0"), a space may
// stand for the T, years may be negative. A time zone ("Z", "UTC", "+01:00") is taken off. Fails where the
// calendar has no such day.
Result<Period> parse_date(std::string_view text, Calendar calendar);

}  // namespace penstock
