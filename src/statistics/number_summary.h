// Count, mean, standard deviation and range of numbers that arrive in pieces, possibly on several threads.
//
// Each piece is summed alone, and the sums are joined by Chan's formula. One sum of squares over a whole data set would
// lose the digits that the deviation consists of.
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
  double deviation() const;  // the population's standard deviation, as NumPy's std
};

}  // namespace penstock
