// The conversion of stored numbers to values (the CF conventions): value = stored * scale + offset.
#pragma once

#include <vector>

#include "penstock/array.h"

namespace penstock {

struct ValueCoding {
  DType dtype = DType::kFloat32;  // of the values: float32, float64, or int64 where the scale is an integer
  double scale = 1, offset = 0;
  std::vector<double> missing;  // stored numbers that mean "no value", besides not-a-number, which always does
  double instead_of_missing = 0;
  bool missing_is_error = false;
  bool operator==(const ValueCoding&) const = default;
};

}  // namespace penstock
