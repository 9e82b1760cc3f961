// One pass over all samples: position -> sample. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "order/epoch_order.h"

namespace penstock {

// Streams of random numbers are separated by purpose, so that no two uses of one seed get the same numbers.
enum class KeyPurpose : std::uint64_t {
  kFull = 1,
  kUnits = 2,
  kWindow = 3,
  kWeights = 4,
  kMixture = 5,
  kPart = 6,
  kRuns = 7,
  kDraws = 8,
  kPassOffset = 9,
};

std::uint64_t derive_key(std::uint64_t seed, std::uint64_t pass, KeyPurpose purpose, std::uint64_t part = 0);

class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::uint64_t at(std::uint64_t position) const = 0;
};

// A pass over `count` samples, shuffled as spec.shuffle says.
std::unique_ptr<const Pass> make_pass(const OrderSpec& spec, std::uint64_t count, std::uint64_t pass);

// A pass over units that differ in size or can only be read forward (spec.units).
std::unique_ptr<const Pass> make_unit_pass(const OrderSpec& spec, std::uint64_t pass);

}  // namespace penstock
