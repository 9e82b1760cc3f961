#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace penstock {
namespace {

TEST(Draws, are_a_function_of_seed_epoch_and_position) {
  const auto first = [](std::uint64_t s, std::uint64_t e, std::uint64_t p) {
    return Draws(s, e, p).next_u32();
  };
  EXPECT_EQ(first(1, 2, 3), first(1, 2, 3));
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < 10; ++i) {
    seen.insert(first(i, 100, 200));
    seen.insert(first(100, i, 200));
    seen.insert(first(100, 200, i));
    seen.insert(first(i << 32, 100, 200));
    seen.insert(first(100, 200, i << 32));
  }
  EXPECT_GE(seen.size(), 45u);
}

// The published test vectors of Random123 for Philox4x32-10.
TEST(Draws, match_the_published_vectors) {
  Draws zero(0, 0, 0);
  // The block is handed out from its end.
  EXPECT_EQ(zero.next_u32(), 0x9B00DBD8u);
  EXPECT_EQ(zero.next_u32(), 0xBC57AC4Cu);
}

TEST(Draws, streams_are_independent_and_start_anew) {
  Draws draws(1, 2, 3);
  draws.select_stream(1);
  const auto a = draws.next_u32();
  draws.select_stream(2);
  const auto b = draws.next_u32();
  draws.select_stream(1);
  EXPECT_EQ(draws.next_u32(), a);
  EXPECT_NE(a, b);
}

TEST(Draws, views_are_independent_and_the_first_draws_as_if_it_were_alone) {
  Draws plain(1, 2, 3), first(1, 2, 3), second(1, 2, 3);
  first.select_view(0);
  second.select_view(1);
  for (const std::uint32_t stream : {0u, 1u, 0x203u, 0xFFFFu}) {
    plain.select_stream(stream);
    first.select_stream(stream);
    second.select_stream(stream);
    const auto drawn = plain.next_u32();
    EXPECT_EQ(first.next_u32(), drawn);
    EXPECT_NE(second.next_u32(), drawn);
  }
  EXPECT_EQ(second.key().seed, 1u);
  EXPECT_EQ(second.key().epoch, 2u);
  EXPECT_EQ(second.key().position, 3u);
  EXPECT_EQ(second.key().stream, 0x1FFFFu);
}

TEST(Draws, uniform_is_in_range_and_has_the_right_moments) {
  Draws draws(42, 0, 0);
  double sum = 0, squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double value = draws.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.005);
}

TEST(Draws, below_is_even_and_in_range) {
  Draws draws(42, 1, 0);
  int counts[7] = {};
  for (int i = 0; i < 70'000; ++i) ++counts[draws.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 600);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(draws.below(1), 0u);
}

TEST(Draws, chance_of_zero_never_and_of_one_always) {
  Draws draws(3, 3, 3);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(draws.chance(0));
    EXPECT_TRUE(draws.chance(1));
  }
}

}  // namespace
}  // namespace penstock
