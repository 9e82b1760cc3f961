// Count, mean, spread and range of numbers that come in pieces, possibly on several threads.
//
// Pieces are summed by themselves and joined by Chan's formula: sums of squares over a whole data
// set would lose the digits that the deviation is made of.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace penstock {

struct NumberSummary {
  std::uint64_t count = 0;
  double mean = 0;
  double squares = 0;  // the sum of squared distances from the mean
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  static NumberSummary of(std::span<const double> finite);

  void add(double value);
  void add(const NumberSummary& other);
  double deviation() const;  // of the numbers as they are (NumPy's std), not an estimate from them
};

}  // namespace penstock
