// How the stored numbers of an array mean times: a NumPy datetime64, or numbers with CF units.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "penstock/source.h"
#include "source/value_coding.h"
#include "source/zarr/time/time_units.h"
#include "source/zarr/metadata/zarr_node.h"

namespace penstock {

struct TimeCoding {
  TimeUnits units;
  TimeUnits::Fractions fractions = TimeUnits::Fractions::kTruncateToNanoseconds;
  // scale_factor, add_offset and the marks of missing values, which come before the units; null: none.
  std::shared_ptr<const ValueCoding> packing;
  // Stored integers without a scale keep all their digits.
  bool counts_are_integers = false;

  // A stored number: exact where counts_are_integers. `is_missing` tells NaN, NaT and marks from times that
  // are too far away: neither has a moment.
  std::optional<Moment> decode(std::int64_t stored) const;
  std::optional<Moment> decode(double stored) const;
  bool is_missing(std::int64_t stored) const;
  bool is_missing(double stored) const;
};

// Does the array say that it holds dates? Whether they can be decoded is another question.
bool claims_times(const ZarrArray& array);

// Nothing where the array holds no times: a message in `why_not` says what its units lack where they only
// look like times (an unknown calendar, "months since").
Result<std::optional<TimeCoding>> time_coding_of(const ZarrArray& array, std::string* why_not = nullptr);

}  // namespace penstock
