// Reads a field and adds the time and bytes that this took to the cost of its sample.
#pragma once

#include "sample/field_maker.h"

namespace penstock {

inline Result<RecordValue> measure_read(const FieldSetup& setup, const FieldRead& wanted, UnitCost& cost) {
  const Clock::time_point began = Clock::now();
  auto found = setup.bytes.read(wanted);
  if (!found) return found;
  cost.read_seconds += seconds_between(began, Clock::now());
  cost.encoded_bytes += static_cast<double>(found->bytes.size());
  return found;
}

}  // namespace penstock
