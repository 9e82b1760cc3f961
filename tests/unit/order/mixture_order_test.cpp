#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "order/epoch_order.h"

namespace penstock {
namespace {

OrderSpec mixture(std::vector<std::uint64_t> sizes, std::vector<double> weights) {
  OrderSpec spec;
  for (const std::uint64_t size : sizes) spec.samples += size;
  spec.shuffle = Shuffle::kFull;
  spec.mixture = Mixture{std::move(sizes), std::move(weights)};
  return spec;
}

TEST(MixtureOrder, every_stretch_has_the_shares_that_were_asked_for) {
  OrderSpec spec = mixture({100, 5000, 7}, {0.6, 0.3, 0.1});
  spec.epoch_size = 50'000;
  const auto order = make_epoch_order(spec, 1);
  for (const std::uint64_t begin : {0u, 1234u, 40'000u}) {
    std::vector<double> share(3, 0);
    for (std::uint64_t p = begin; p < begin + 10'000; ++p) {
      const std::uint64_t sample = order->sample_at(p);
      ASSERT_LT(sample, spec.samples);
      share[sample < 100 ? 0 : sample < 5100 ? 1 : 2] += 1e-4;
    }
    EXPECT_NEAR(share[0], 0.6, 0.02);
    EXPECT_NEAR(share[1], 0.3, 0.02);
    EXPECT_NEAR(share[2], 0.1, 0.02);
  }
}

TEST(MixtureOrder, goes_through_each_part_evenly) {
  OrderSpec spec = mixture({10, 300}, {0.5, 0.5});
  spec.epoch_size = 1 << 14;
  std::map<std::uint64_t, int> counts;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const auto order = make_epoch_order(spec, epoch);
    for (std::uint64_t p = 0; p < order->size(); ++p) ++counts[order->sample_at(p)];
  }
  const double drawn = 3.0 * (1 << 13);
  for (const auto& [sample, count] : counts)
    EXPECT_NEAR(count, drawn / (sample < 10 ? 10 : 300), 1.5) << "sample " << sample;
  EXPECT_EQ(counts.size(), 310u);
}

TEST(MixtureOrder, is_a_function_of_seed_epoch_and_position) {
  OrderSpec spec = mixture({50, 70}, {0.25, 0.75});
  const auto once = make_epoch_order(spec, 3), again = make_epoch_order(spec, 3),
             other = make_epoch_order(spec, 4);
  bool differs = false;
  for (std::uint64_t p = once->size(); p-- > 0;) {
    EXPECT_EQ(once->sample_at(p), again->sample_at(p));
    differs = differs || once->sample_at(p) != other->sample_at(p);
  }
  EXPECT_TRUE(differs);
}

TEST(MixtureOrder, unshuffled_parts_keep_their_order) {
  OrderSpec spec = mixture({4000, 1000}, {0.75, 0.25});
  spec.shuffle = Shuffle::kNone;
  spec.epoch_size = 3000;
  const auto order = make_epoch_order(spec, 0);
  std::uint64_t next[2] = {0, 4000};
  for (std::uint64_t p = 0; p < order->size(); ++p) {
    const std::uint64_t sample = order->sample_at(p);
    ASSERT_EQ(sample, next[sample >= 4000]++) << "position " << p;
  }
  EXPECT_NEAR(static_cast<double>(next[0]), 2250, 30);
}

TEST(MixtureOrder, many_parts_of_tiny_weight_are_all_drawn) {
  std::vector<std::uint64_t> sizes(40, 25);
  std::vector<double> weights(40, 0.5 / 39);
  weights[7] = 0.5;
  OrderSpec spec = mixture(sizes, weights);
  spec.epoch_size = 20'000;
  const auto order = make_epoch_order(spec, 0);
  std::vector<int> counts(40, 0);
  for (std::uint64_t p = 0; p < order->size(); ++p) ++counts[order->sample_at(p) / 25];
  for (int i = 0; i < 40; ++i)
    EXPECT_NEAR(counts[static_cast<std::size_t>(i)], i == 7 ? 10'000 : 256, 60) << i;
}

}  // namespace
}  // namespace penstock
