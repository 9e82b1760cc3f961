// Fingerprints of programs, which name cache entries.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/random.h"

namespace penstock {

// These values must not change, because cache entries of earlier runs are found by them. The first number identifies
// the op.
inline std::uint64_t mix_fingerprint(std::uint64_t before, std::initializer_list<int> numbers) {
  for (const int number : numbers) before = mix64(before + static_cast<std::uint64_t>(number) + 1);
  return before;
}

}  // namespace penstock
