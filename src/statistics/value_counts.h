// Counts how often each value occurs, for labels of samples and for the classes of a mask's pixels.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "statistics/number_summary.h"
#include "transform/view.h"

namespace penstock {

// Belongs to one thread until it is added to another.
class ValueCounts {
 public:
  void add(const View& value);
  void add(const ValueCounts& other);

  std::uint64_t samples() const { return samples_; }
  // Empty if there are too many different values, because then they identify samples and are not classes.
  const std::map<std::int64_t, std::uint64_t>& counts() const { return counts_; }
  bool are_too_many() const { return too_many_; }
  const NumberSummary& moments() const { return moments_; }

 private:
  void add_elements(const View& value);
  void count(std::int64_t value, std::uint64_t times);

  std::vector<std::int64_t> converted_;
  std::map<std::int64_t, std::uint64_t> counts_;
  NumberSummary moments_;
  bool too_many_ = false;
  std::uint64_t samples_ = 0;
};

}  // namespace penstock
