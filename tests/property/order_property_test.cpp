// For random sizes, ranks, orders and stops: every sample exactly once, equal batch counts, and a
// resumed run delivers exactly the rest. Nothing is read here; loaders follow in
// loader_property_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "order/epoch_order.h"
#include "order/rank_slice.h"
#include "support/seed_of_run.h"

namespace penstock {
namespace {

struct Case {
  OrderSpec order;
  std::uint64_t epoch, batch;
  std::uint32_t world;
  bool drop_last;
};

Case random_case(Draws& draws) {
  Case c;
  c.order.samples = 1 + draws.below(draws.chance(0.2) ? 3000 : 120);
  c.order.shuffle = static_cast<Shuffle>(draws.below(3));
  c.order.seed = draws.next_u32();
  c.order.unit_samples = 1 + draws.below(20);
  c.order.window_units = 1 + draws.below(9);
  if (draws.chance(0.3)) {
    auto list = std::make_shared<std::vector<std::uint64_t>>(1 + draws.below(80));
    for (auto& index : *list) index = draws.below(c.order.samples);
    c.order.indices = list;
  }
  if (draws.chance(0.25)) c.order.epoch_size = 1 + draws.below(200);
  c.epoch = draws.below(50);
  c.batch = 1 + draws.below(20);
  c.world = static_cast<std::uint32_t>(1 + draws.below(9));
  c.drop_last = draws.chance(0.3);
  return c;
}

// Samples of all ranks from `start`, by position, for at most `batches` batches of each rank.
std::vector<std::uint64_t> deliver(const EpochOrder& order, RankSlice slice, std::uint64_t batches,
                                   std::vector<int>& times) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t b = 0; b < std::min(batches, slice.batches()); ++b)
    for (slice.rank = 0; slice.rank < slice.world_size; ++slice.rank) {
      const PositionRange range = slice.batch(b);
      if (range.padded) continue;
      for (std::uint64_t p = range.first; p < range.first + range.count; ++p) {
        ++times[p];
        samples.push_back(order.sample_at(p));
      }
    }
  return samples;
}

void check_cases(std::uint64_t seed, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t number = from; number < to; ++number) {
    Draws draws(seed, 0, number);
    const Case c = random_case(draws);
    SCOPED_TRACE("case " + std::to_string(number));
    const auto order = make_epoch_order(c.order, c.epoch);
    const std::uint64_t size = order->size();
    const RankSlice slice{size, 0, c.batch, 0, c.world, c.drop_last};
    std::vector<int> times(size);
    const auto samples = deliver(*order, slice, ~std::uint64_t{0}, times);
    const std::uint64_t whole = c.drop_last ? size / (c.batch * c.world) * c.batch * c.world : size;
    for (std::uint64_t p = 0; p < size; ++p) ASSERT_EQ(times[p], p < whole) << p;
    if (!c.drop_last && c.order.epoch_size == 0) {
      std::vector<std::uint64_t> got = samples, wanted;
      if (c.order.indices)
        wanted = *c.order.indices;
      else
        for (std::uint64_t i = 0; i < c.order.samples; ++i) wanted.push_back(i);
      std::ranges::sort(got);
      std::ranges::sort(wanted);
      ASSERT_EQ(got, wanted);
    }

    // Stop anywhere, go on with other ranks and another batch size, twice.
    RankSlice first = slice;
    std::vector<int> again(size);
    std::vector<std::uint64_t> joined;
    for (int leg = 0; leg < 3; ++leg) {
      const std::uint64_t stop = leg == 2 ? ~std::uint64_t{0} : draws.below(first.batches() + 1);
      const auto part = deliver(*order, first, stop, again);
      joined.insert(joined.end(), part.begin(), part.end());
      first.start = first.position_after(std::min(stop, first.batches()));
      first.world_size = static_cast<std::uint32_t>(1 + draws.below(9));
      first.batch_size = 1 + draws.below(20);
    }
    for (std::uint64_t p = 0; p < size; ++p) {
      if (c.drop_last) {
        ASSERT_LE(again[p], 1) << p;
      } else {
        ASSERT_EQ(again[p], 1) << p;
      }
    }
    if (!c.drop_last) {
      ASSERT_EQ(joined, samples) << "also in the same order";
    }
  }
}

TEST(OrderProperty, every_sample_once_and_resumed_runs_deliver_the_rest) {
  check_cases(seed_of_run(), 0, 4000);
}
TEST(SlowOrderProperty, every_sample_once_and_resumed_runs_deliver_the_rest) {
  check_cases(seed_of_run(), 4000, 104'000);
}

}  // namespace
}  // namespace penstock
