#include "store/http/retry.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Retry, delays_double_up_to_the_longest_and_are_anything_below) {
  const RetryOptions options;
  EXPECT_EQ(backoff_delay(options, 1, 0.999).count(), 49);
  EXPECT_EQ(backoff_delay(options, 3, 0.5).count(), 100);
  EXPECT_EQ(backoff_delay(options, 1000, 0.5).count(), 2500);
  EXPECT_EQ(backoff_delay(options, 1000, 0).count(), 0);
}

TEST(RetryBudget, a_dying_server_gets_few_retries) {
  RetryBudget budget;
  const Clock::time_point now{std::chrono::hours(1)};
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    budget.request_sent();
    taken += budget.try_take(now) ? 1 : 0;
  }
  EXPECT_NEAR(taken, 210, 2);
  EXPECT_FALSE(budget.try_take(now));
  EXPECT_GT(budget.next_chance(now), now);
}

TEST(RetryBudget, time_and_success_give_some_back_but_no_more) {
  RetryBudget budget;
  Clock::time_point now{std::chrono::hours(1)};
  while (budget.try_take(now)) continue;
  EXPECT_TRUE(budget.try_take(budget.next_chance(now)));
  now += std::chrono::hours(1);
  int taken = 0;
  while (budget.try_take(now)) ++taken;
  EXPECT_EQ(taken, 10);
  budget.retry_worked();
  EXPECT_TRUE(budget.try_take(now));
  EXPECT_FALSE(budget.try_take(now));
}

}  // namespace
}  // namespace penstock
