#include "order/bucket_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "support/samples_of.h"

namespace penstock {
namespace {

OrderSpec bucketed(std::uint64_t samples, std::uint64_t run) {
  auto lengths = std::make_shared<std::vector<std::uint64_t>>(samples);
  for (std::uint64_t i = 0; i < samples; ++i) (*lengths)[i] = mix64(i) % 1000;
  OrderSpec spec;
  spec.samples = samples;
  spec.shuffle = Shuffle::kFull;
  spec.lengths = std::move(lengths);
  spec.bucket_run = run;
  return spec;
}

TEST(BucketOrder, has_every_sample_once) {
  for (const std::uint64_t samples : {1u, 7u, 64u, 999u, 5000u})
    for (const std::uint64_t run : {1u, 4u, 7u, 64u}) {
      auto got = samples_of(bucketed(samples, run), 1);
      std::ranges::sort(got);
      std::vector<std::uint64_t> all(samples);
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(got, all) << samples << " " << run;
    }
}

TEST(BucketOrder, runs_hold_samples_of_like_length_in_random_order) {
  const OrderSpec spec = bucketed(6400, 64);
  const auto samples = samples_of(spec, 0);
  std::vector<std::uint64_t> medians;
  for (std::size_t run = 0; run < 100; ++run) {
    std::vector<std::uint64_t> lengths;
    for (std::size_t i = 0; i < 64; ++i) lengths.push_back((*spec.lengths)[samples[run * 64 + i]]);
    const auto [least, most] = std::ranges::minmax(lengths);
    EXPECT_LT(most - least, 40u) << "run " << run;
    medians.push_back(lengths[32]);
  }
  EXPECT_FALSE(std::ranges::is_sorted(medians));
  EXPECT_NE(samples, samples_of(spec, 1));
  EXPECT_EQ(samples, samples_of(spec, 0));
}

TEST(BucketOrder, can_be_asked_in_any_order) {
  const OrderSpec spec = bucketed(1000, 3);
  const auto forward = samples_of(spec, 2);
  const auto order = make_epoch_order(spec, 2);
  for (std::uint64_t step = 0; step < 1000; ++step) {
    const std::uint64_t p = step * 617 % 1000;
    ASSERT_EQ(order->sample_at(p), forward[p]);
  }
}

TEST(BucketOrder, as_many_lengths_as_samples_are_wanted) {
  OrderSpec spec = bucketed(10, 2);
  spec.samples = 11;
  EXPECT_FALSE(check_order(spec));
}

}  // namespace
}  // namespace penstock
