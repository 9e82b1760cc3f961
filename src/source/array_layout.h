// The storage layout of the arrays of a field, if it is the same for all samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "penstock/array.h"

namespace penstock {

struct ArrayDescription;

struct ArrayLayout {
  ArraySpec spec;
  bool fortran_order = false;
  bool swap_bytes = false;
  std::vector<std::byte> header;    // the bytes before the data of each sample; empty: none
  std::optional<int> channel_axis;  // -1: no axis counts channels; nullopt: the first or the last does, whichever fits
  // Bit d is set where axis d is not a direction in space (channels, steps of a window). Flips and rotations do not
  // touch such an axis.
  std::uint8_t axes_not_in_space = 0;
  // For several variables in one array: the number of channels of each variable, in their order.
  std::vector<std::int64_t> channels_of_variables = {};
  bool is_time = false;  // int64 nanoseconds since 1970; the lowest number means "not a time" (NaT)
  std::shared_ptr<const ArrayDescription> description = nullptr;  // nullptr: nothing else is known
};

}  // namespace penstock
