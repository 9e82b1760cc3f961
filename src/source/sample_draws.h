// Samples that are drawn at random rather than visited once per epoch.
#pragma once

#include <cstdint>

namespace penstock {

// Samples that are drawn at random, per_epoch() of them in each epoch: patches of volumes. Neighbouring samples form
// regions. The regions are laid out along a line, where each is as long as its share of the draws. A pass cuts the line
// into equal visits. A visit makes several draws that are close together on the line, so that data which their samples
// share is read once.
//
// Immutable and thread-safe; owned by its source.
class SampleDraws {
 public:
  virtual ~SampleDraws() = default;
  virtual std::uint64_t per_epoch() const = 0;
  virtual std::uint64_t visits_per_pass() const = 0;
  virtual std::uint64_t per_visit() const = 0;
  // A sample of the region at `point` of the line, which ends at 2^64. The key selects it uniformly at random.
  virtual std::uint64_t draw(std::uint64_t point, std::uint64_t key) const = 0;
};

}  // namespace penstock
