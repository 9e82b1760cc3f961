// Times as the CF conventions count them: "hours since 1900-01-01 00:00:00".
#pragma once

#include <optional>
#include <string_view>

#include "source/zarr/time/calendar.h"

namespace penstock {

struct TimeUnits {
  Calendar calendar = Calendar::kStandard;
  Moment since;
  std::int64_t nanoseconds = 1;  // of one unit

  // Decodes a stored number; nullopt if the time is out of range (about 292,000 years).
  std::optional<Moment> decode(std::int64_t count) const;
  // xarray reads fractions in two ways: truncated to nanoseconds if all times of the array fit
  // numpy.datetime64[ns], otherwise rounded to microseconds, as cftime does. NaN is no moment.
  enum class Fractions : std::uint8_t { kTruncateToNanoseconds, kRoundToMicroseconds };
  std::optional<Moment> decode(double count, Fractions fractions) const;
  Fractions fractions_for(double least, double most) const;
};

// Whether a `units` attribute is about dates, by the rule of xarray.
bool are_time_units(std::string_view units);

// Parses the units that cftime and xarray know: nanoseconds to days by their usual names, months in the 360_day
// calendar and common_years in noleap. Other units have no fixed length and are refused.
Result<TimeUnits> parse_time_units(std::string_view units, std::string_view calendar);

// Parses the unit of a NumPy datetime64: "ns", "10s". nullopt for units without a fixed length or finer than
// nanoseconds.
std::optional<TimeUnits> numpy_time_units(std::string_view unit);

}  // namespace penstock
