// The seed of the random cases of a property test.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace penstock {

// PENSTOCK_TEST_SEED repeats a run, which is why the seed is printed.
inline std::uint64_t seed_of_run() {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 20'250'101;
  std::printf("PENSTOCK_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace penstock
