// The representation of times by the stored numbers of an array: as a NumPy datetime64, or as numbers with CF units.
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
  // scale_factor, add_offset and missing-value marks, which are applied before the units; null: none.
  std::shared_ptr<const ValueCoding> packing;
  // Stored integers without a scale are decoded exactly.
  bool counts_are_integers = false;

  // Decodes a stored number, exactly if counts_are_integers. Neither missing values nor times out of range have
  // a moment; `is_missing` is true for NaN, NaT and marks only.
  std::optional<Moment> decode(std::int64_t stored) const;
  std::optional<Moment> decode(double stored) const;
  bool is_missing(std::int64_t stored) const;
  bool is_missing(double stored) const;
};

// Whether the array claims to hold dates, even if they cannot be decoded.
bool claims_times(const ZarrArray& array);

// nullopt: the array holds no times. If its units only look like times (an unknown calendar, "months since"),
// `why_not` explains what is wrong with them.
Result<std::optional<TimeCoding>> time_coding_of(const ZarrArray& array, std::string* why_not = nullptr);

}  // namespace penstock
