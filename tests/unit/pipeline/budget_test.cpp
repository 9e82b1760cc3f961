#include "pipeline/budget.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(Budget, parts_never_sum_to_more_than_the_whole) {
  Draws draws(1, 0, 0);
  for (int i = 0; i < 20'000; ++i) {
    BudgetRequest request;
    request.threads = 1 + static_cast<unsigned>(draws.below(64));
    request.batch_bytes = 128 + draws.below(draws.chance(0.5) ? 1000 : 300 * kMiB);
    request.budget_bytes = draws.below(draws.chance(0.5) ? 600 * kMiB : 8000 * kMiB);
    request.prefetch = draws.chance(0.5) ? 0 : 1 + draws.below(100);
    request.in_flight_bytes = draws.chance(0.5) ? 0 : draws.below(50 * kMiB);
    const auto plan = divide_budget(request);
    const bool fits = request.budget_bytes >= request.batch_bytes + request.threads * kMiB + request.in_flight_bytes;
    ASSERT_EQ(plan.has_value(), fits);
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::kNoMemory);
      continue;
    }
    ASSERT_EQ(plan->in_flight_bytes, request.in_flight_bytes);
    ASSERT_LE(plan->batch_area_bytes + plan->scratch_share_bytes * request.threads + plan->scratch_pot_bytes +
                  plan->in_flight_bytes,
              request.budget_bytes);
    ASSERT_GE(plan->batch_area_bytes, request.batch_bytes);
    ASSERT_GE(plan->prefetch, 1u);
    ASSERT_LE(plan->prefetch * request.batch_bytes, plan->batch_area_bytes);
    if (request.prefetch) {
      ASSERT_LE(plan->prefetch, request.prefetch);
    }
  }
}

TEST(Budget, too_small_says_how_much_is_needed) {
  const auto plan = divide_budget({.budget_bytes = 10 * kMiB, .batch_bytes = 20 * kMiB, .threads = 2});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("23 MiB"), std::string::npos) << plan.error().message;
  EXPECT_TRUE(divide_budget({.budget_bytes = 23 * kMiB, .batch_bytes = 20 * kMiB, .threads = 2}));
}

TEST(Budget, absurd_batch_sizes_do_not_wrap_around) {
  EXPECT_FALSE(divide_budget({.budget_bytes = 100 * kMiB,
                              .batch_bytes = ~std::uint64_t{0} - kMiB / 2,

                              .threads = 1}));
}

TEST(Budget, one_worker_can_always_decode_the_largest_chunk) {
  for (std::uint64_t chunk = 1 << 16; chunk <= 256 * kMiB; chunk *= 2)
    for (const unsigned threads : {1u, 2u, 16u})
      for (const std::uint64_t batch : {kMiB, 40 * kMiB}) {
        BudgetRequest request;
        request.batch_bytes = batch;
        request.chunk_scratch_bytes = chunk;
        request.threads = threads;
        for (std::uint64_t more = 0; more <= 2048 * kMiB; more = 2 * more + kMiB) {
          request.budget_bytes = least_budget(request) + more;
          const auto plan = divide_budget(request);
          ASSERT_TRUE(plan) << plan.error().message;
          EXPECT_GE(plan->chunk_share_bytes + plan->chunk_pot_bytes, chunk);
          EXPECT_GE(plan->scratch_share_bytes, kMiB);
          EXPECT_LE(plan->batch_area_bytes +
                        (plan->scratch_share_bytes + plan->chunk_share_bytes) * threads +
                        plan->scratch_pot_bytes + plan->chunk_pot_bytes,
                    request.budget_bytes);
        }
        request.budget_bytes = least_budget(request) - 1;
        EXPECT_FALSE(divide_budget(request));
      }
}

TEST(Budget, all_workers_decode_chunks_where_that_takes_little) {
  BudgetRequest request{.budget_bytes = 256 * kMiB, .batch_bytes = kMiB, .chunk_scratch_bytes = kMiB, .threads = 16};
  EXPECT_EQ(divide_budget(request)->chunk_share_bytes, kMiB);
  EXPECT_EQ(divide_budget(request)->chunk_pot_bytes, 2 * kMiB) << "for one that takes more than usual";
  request.chunk_scratch_bytes = 64 * kMiB;
  EXPECT_EQ(wanted_chunk_scratch(request), 64 * kMiB) << "one at a time: the rest is better used to keep chunks";
  EXPECT_EQ(divide_budget(request)->chunk_pot_bytes, 64 * kMiB);
}

}  // namespace
}  // namespace penstock
