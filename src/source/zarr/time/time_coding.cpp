#include "source/zarr/time/time_coding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "source/zarr/variable.h"

namespace penstock {
namespace {

bool is_integer(DType dtype) { return dtype >= DType::kUInt8 && dtype <= DType::kInt64; }

}  // namespace

bool TimeCoding::is_missing(std::int64_t stored) const {
  return stored == std::numeric_limits<std::int64_t>::min() ||
         (packing && std::ranges::find(packing->missing, static_cast<double>(stored)) != packing->missing.end());
}

bool TimeCoding::is_missing(double stored) const {
  return std::isnan(stored) ||
         (packing && std::ranges::find(packing->missing, stored) != packing->missing.end());
}

std::optional<Moment> TimeCoding::decode(std::int64_t stored) const {
  return is_missing(stored) ? std::nullopt : units.decode(stored);
}

std::optional<Moment> TimeCoding::decode(double stored) const {
  if (is_missing(stored)) return std::nullopt;
  return units.decode(packing ? stored * packing->scale + packing->offset : stored, fractions);
}

bool claims_times(const ZarrArray& array) {
  if (array.time_unit) return !array.is_duration;
  const DType dtype = array.data->spec().dtype;
  return dtype != DType::kBool && dtype < DType::kComplex64 && are_time_units(text_attribute(array, "units"));
}

Result<std::optional<TimeCoding>> time_coding_of(const ZarrArray& array, std::string* why_not) {
  const auto no_time = [&](std::string why) {
    if (why_not != nullptr) *why_not = std::move(why);
    return std::nullopt;
  };
  TimeCoding coding;
  if (array.time_unit) {
    if (array.is_duration) return no_time("these are durations (timedelta64), not dates");
    const auto units = numpy_time_units(*array.time_unit);
    if (!units) return no_time(fmt::format("datetime64[{}] has no fixed length", *array.time_unit));
    coding.units = *units;
    coding.counts_are_integers = true;
    return coding;
  }
  const DType dtype = array.data->spec().dtype;
  if (dtype == DType::kBool || dtype >= DType::kComplex64) return no_time("the stored values are not numbers");
  const std::string units = text_attribute(array, "units");
  if (units.empty()) return no_time("the array has no units");
  auto parsed = parse_time_units(units, text_attribute(array, "calendar"));
  if (!parsed) return no_time(std::move(parsed).error().message);
  auto packing = coding_of(array, {});
  if (!packing) return std::unexpected(std::move(packing).error());
  coding.units = *parsed;
  coding.packing = std::move(*packing);
  const bool is_scaled = coding.packing && (coding.packing->scale != 1 || coding.packing->offset != 0);
  coding.counts_are_integers = is_integer(dtype) && dtype != DType::kUInt64 && !is_scaled;
  coding.fractions = coding.units.fractions_for(0, 0);
  return coding;
}

}  // namespace penstock
