#include "order/epoch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "support/samples_of.h"

namespace penstock {
namespace {

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> values) {
  std::ranges::sort(values);
  return values;
}

std::vector<std::uint64_t> count_up(std::uint64_t size) {
  std::vector<std::uint64_t> out(size);
  std::iota(out.begin(), out.end(), std::uint64_t{0});
  return out;
}

TEST(EpochOrder, without_shuffle_is_the_order_of_the_source) {
  EXPECT_EQ(samples_of({.samples = 17}, 3), count_up(17));
}

TEST(EpochOrder, full_shuffle_has_every_sample_once_and_differs_by_epoch_and_seed) {
  for (std::uint64_t n : {1u, 2u, 3u, 10u, 257u}) {
    const OrderSpec spec{.samples = n, .shuffle = Shuffle::kFull, .seed = 9};
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(sorted(samples_of(spec, epoch)), count_up(n));
  }
  OrderSpec spec{.samples = 257, .shuffle = Shuffle::kFull, .seed = 9};
  const auto first = samples_of(spec, 0);
  EXPECT_EQ(first, samples_of(spec, 0));
  EXPECT_NE(first, samples_of(spec, 1));
  spec.seed = 10;
  EXPECT_NE(first, samples_of(spec, 0));
}

TEST(EpochOrder, window_shuffle_has_every_sample_once_for_all_windows_and_short_last_units) {
  for (std::uint64_t n : {1u, 2u, 7u, 12u, 13u, 50u, 101u})
    for (std::uint64_t unit : {1u, 2u, 3u, 5u, 7u, 12u, 13u, 200u})
      for (std::uint64_t window = 1; window <= 9; ++window)
        for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
          const OrderSpec spec{.samples = n,
                               .shuffle = Shuffle::kWindow,
                               .seed = 3,
                               .unit_samples = unit,
                               .window_units = window};
          ASSERT_EQ(sorted(samples_of(spec, epoch)), count_up(n))
              << n << " " << unit << " " << window << " " << epoch;
        }
}

TEST(EpochOrder, a_window_touches_only_its_units) {
  const OrderSpec spec{
      .samples = 103, .shuffle = Shuffle::kWindow, .seed = 1, .unit_samples = 10, .window_units = 3};
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    const auto order = samples_of(spec, epoch);
    // Walk on: a unit that was left never comes back more than a window later.
    std::vector<std::size_t> first(11, order.size()), last(11, 0);
    for (std::size_t p = 0; p < order.size(); ++p) {
      const std::size_t unit = order[p] / 10;
      first[unit] = std::min(first[unit], p);
      last[unit] = std::max(last[unit], p);
    }
    for (std::size_t unit = 0; unit < 11; ++unit) EXPECT_LT(last[unit] - first[unit], 30u);
  }
}

TEST(EpochOrder, window_shuffle_mixes_within_and_across_units) {
  const OrderSpec spec{
      .samples = 1000, .shuffle = Shuffle::kWindow, .seed = 1, .unit_samples = 10, .window_units = 10};
  const auto order = samples_of(spec, 0);
  std::set<std::uint64_t> units;
  for (std::size_t p = 0; p < 20; ++p) units.insert(order[p] / 10);
  EXPECT_GE(units.size(), 5u);
}

TEST(EpochOrder, zero_unit_or_window_counts_as_one) {
  const OrderSpec spec{.samples = 20, .shuffle = Shuffle::kWindow, .unit_samples = 0, .window_units = 0};
  EXPECT_EQ(sorted(samples_of(spec, 0)), count_up(20));
}

TEST(EpochOrder, short_epochs_go_on_where_the_last_stopped) {
  for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kFull, Shuffle::kWindow})
    for (std::uint64_t size : {1u, 3u, 7u, 10u, 23u}) {
      const OrderSpec spec{.samples = 10,
                           .epoch_size = size,
                           .shuffle = shuffle,
                           .seed = 4,
                           .unit_samples = 3,
                           .window_units = 2};
      std::vector<std::uint64_t> walk;
      for (std::uint64_t epoch = 0; walk.size() < 100; ++epoch) {
        const auto part = samples_of(spec, epoch);
        ASSERT_EQ(part.size(), size);
        walk.insert(walk.end(), part.begin(), part.end());
      }
      for (std::size_t pass = 0; pass < 10; ++pass) {
        const auto from = walk.begin() + static_cast<std::ptrdiff_t>(10 * pass);
        EXPECT_EQ(sorted({from, from + 10}), count_up(10)) << "pass " << pass << " of epochs of " << size;
      }
    }
}

TEST(EpochOrder, a_late_epoch_needs_no_walk_from_the_start) {
  const OrderSpec spec{.samples = 10, .epoch_size = 7, .shuffle = Shuffle::kFull};
  const auto order = make_epoch_order(spec, ~std::uint64_t{0} / 4);
  for (std::uint64_t p = 0; p < 7; ++p) EXPECT_LT(order->sample_at(p), 10u);
}

TEST(EpochOrder, sampler_is_followed_in_its_order_and_with_repeats) {
  const auto list =
      std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{5, 5, 1, 9});
  EXPECT_EQ(samples_of({.samples = 10, .indices = list}, 2), *list);
  const OrderSpec shuffled{.samples = 10, .shuffle = Shuffle::kFull, .seed = 1, .indices = list};
  EXPECT_EQ(sorted(samples_of(shuffled, 0)), sorted(*list));
}

TEST(EpochOrder, empty_sampler_is_an_empty_epoch) {
  const auto list = std::make_shared<const std::vector<std::uint64_t>>();
  EXPECT_TRUE(samples_of({.samples = 10, .epoch_size = 4, .indices = list}, 0).empty());
}

TEST(EpochOrder, weights_draw_in_proportion_and_never_a_zero) {
  const auto weights = std::make_shared<const std::vector<double>>(std::vector<double>{1, 0, 3, 0});
  const OrderSpec spec{.samples = 4, .epoch_size = 40'000, .seed = 2, .weights = weights};
  const auto drawn = samples_of(spec, 0);
  const auto ones = std::ranges::count(drawn, 0u), threes = std::ranges::count(drawn, 2u);
  EXPECT_EQ(ones + threes, 40'000);
  EXPECT_NEAR(static_cast<double>(ones), 10'000, 6 * 87);  // six standard deviations
  EXPECT_NE(drawn, samples_of(spec, 1));
  EXPECT_EQ(drawn, samples_of(spec, 0));
}

TEST(EpochOrder, bad_samplers_and_weights_are_refused) {
  const auto indices = [](std::vector<std::uint64_t> v) {
    return std::make_shared<const std::vector<std::uint64_t>>(std::move(v));
  };
  const auto weights = [](std::vector<double> v) {
    return std::make_shared<const std::vector<double>>(std::move(v));
  };
  EXPECT_TRUE(check_order({.samples = 2, .indices = indices({0, 1})}));
  EXPECT_FALSE(check_order({.samples = 2, .indices = indices({2})}));
  EXPECT_TRUE(check_order({.samples = 2, .weights = weights({0, 1})}));
  EXPECT_FALSE(check_order({.samples = 2, .weights = weights({1})}));
  EXPECT_FALSE(check_order({.samples = 2, .weights = weights({1, -1})}));
  EXPECT_FALSE(check_order({.samples = 2, .weights = weights({0, 0})}));
  EXPECT_FALSE(
      check_order({.samples = 2, .weights = weights({1, std::numeric_limits<double>::quiet_NaN()})}));
  EXPECT_FALSE(check_order({.samples = 2, .weights = weights({1, std::numeric_limits<double>::infinity()})}));
  EXPECT_FALSE(check_order({.samples = 2, .indices = indices({0}), .weights = weights({1, 1})}));
}

TEST(EpochOrder, weights_whose_sum_overflows_are_refused) {
  const double large = std::numeric_limits<double>::max();
  EXPECT_FALSE(check_order(
      {.samples = 2,
       .weights = std::make_shared<const std::vector<double>>(std::vector<double>{large, large})}));
}

TEST(EpochOrder, fingerprint_tells_orders_apart_but_not_seeds) {
  OrderSpec spec{.samples = 10, .shuffle = Shuffle::kFull, .seed = 1};
  const auto base = order_fingerprint(spec);
  OrderSpec other = spec;
  other.seed = 2;
  EXPECT_EQ(order_fingerprint(other), base);  // compared on its own, with a message that names it
  other = spec;
  other.epoch_size = 10;
  EXPECT_EQ(order_fingerprint(other), base);  // what 0 means
  other.epoch_size = 11;
  EXPECT_NE(order_fingerprint(other), base);
  other = spec;
  other.shuffle = Shuffle::kWindow;
  const auto window = order_fingerprint(other);
  EXPECT_NE(window, base);
  other.window_units = 17;
  EXPECT_NE(order_fingerprint(other), window);
  other = spec;
  other.indices = std::make_shared<const std::vector<std::uint64_t>>(
      std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_NE(order_fingerprint(other), base);
}

}  // namespace
}  // namespace penstock
