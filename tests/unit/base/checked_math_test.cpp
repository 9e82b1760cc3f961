#include "base/checked_math.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace penstock {
namespace {

TEST(CheckedMath, results_that_fit_are_exact) {
  EXPECT_EQ(checked_add<std::uint64_t>(~std::uint64_t{0} - 1, 1), ~std::uint64_t{0});
  EXPECT_EQ(checked_multiply<std::uint64_t>(std::uint64_t{1} << 31, std::uint64_t{1} << 32),
            std::uint64_t{1} << 63);
  EXPECT_EQ(checked_add<std::int32_t>(-5, 3), -2);
}

TEST(CheckedMath, overflow_is_nothing) {
  EXPECT_FALSE(checked_add<std::uint64_t>(~std::uint64_t{0}, 1));
  EXPECT_FALSE(checked_multiply<std::uint64_t>(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
  EXPECT_FALSE(checked_multiply<std::int32_t>(1 << 20, 1 << 20));
  EXPECT_FALSE(checked_add<std::int8_t>(100, 100));
}

}  // namespace
}  // namespace penstock
