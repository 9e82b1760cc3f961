#include "order/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace penstock {
namespace {

TEST(Permutation, is_bijective_and_inverse_undoes_it_for_every_small_size) {
  for (std::uint64_t size = 1; size <= 300; ++size)
    for (const std::uint64_t key : {0u, 1u, 77u}) {
      const Permutation permutation(size, key);
      std::vector<bool> seen(size);
      for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t value = permutation(i);
        ASSERT_LT(value, size);
        ASSERT_FALSE(seen[value]) << size << " " << key;
        seen[value] = true;
        ASSERT_EQ(permutation.inverse(value), i);
      }
    }
}

TEST(Permutation, works_for_sizes_that_no_array_could_hold) {
  for (const std::uint64_t size :
       {std::uint64_t{1} << 40, (std::uint64_t{1} << 63) + 12345, ~std::uint64_t{0}}) {
    const Permutation permutation(size, 5);
    for (const std::uint64_t i : {std::uint64_t{0}, size / 3, size - 1}) {
      ASSERT_LT(permutation(i), size);
      ASSERT_EQ(permutation.inverse(permutation(i)), i);
    }
  }
}

TEST(Permutation, other_keys_give_other_orders) {
  const Permutation a(1000, 1), b(1000, 2);
  int same = 0, fixed = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same += a(i) == b(i);
    fixed += a(i) == i;
  }
  EXPECT_LT(same, 10);
  EXPECT_LT(fixed, 10);
}

// Chi-square of where samples of each tenth land: a shuffle that keeps neighbourhoods fails.
TEST(Permutation, spreads_every_tenth_over_the_whole) {
  constexpr int kSize = 10'000, kParts = 10;
  for (std::uint64_t key = 0; key < 20; ++key) {
    const Permutation permutation(kSize, key);
    double counts[kParts][kParts] = {};
    for (int i = 0; i < kSize; ++i)
      ++counts[i * kParts / kSize][permutation(static_cast<std::uint64_t>(i)) * kParts / kSize];
    double chi = 0;
    for (auto& row : counts)
      for (const double count : row) chi += (count - 100) * (count - 100) / 100;
    EXPECT_LT(chi, 81 + 6 * std::sqrt(2 * 81.0)) << key;  // 81 degrees of freedom
  }
}

}  // namespace
}  // namespace penstock
