// A box of a chunked array that is part of a sample.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "source/value_coding.h"

namespace penstock {

constexpr int kMaxAxes = 8;

// Along each axis of the array, the box has `count` elements that are `step` apart. Element (i, j, ...) of the box is
// element to + i * to_stride[0] + j * to_stride[1] + ... of the sample. Steps are positive; an axis that is read
// backwards has a negative stride.
struct ArrayBox {
  using Axes = std::array<std::int64_t, kMaxAxes>;
  std::size_t array = 0;  // position in SourceStorage::arrays
  Axes origin{}, count{}, step{};
  std::int64_t to = 0;
  Axes to_stride{};
  const ValueCoding* coding = nullptr;  // nullptr: values are delivered as they are stored
};

}  // namespace penstock
