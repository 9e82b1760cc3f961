#include "base/memory/ledger.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace penstock {
namespace {

TEST(Ledger, refuses_what_does_not_fit_and_books_nothing_then) {
  Ledger ledger(100);
  EXPECT_TRUE(ledger.try_reserve(60));
  EXPECT_FALSE(ledger.try_reserve(41));
  EXPECT_EQ(ledger.used(), 60u);
  EXPECT_TRUE(ledger.try_reserve(40));
  ledger.release(100);
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_EQ(ledger.peak(), 100u);
}

TEST(Ledger, sums_that_would_wrap_are_refused) {
  Ledger ledger(100);
  EXPECT_TRUE(ledger.try_reserve(50));
  EXPECT_FALSE(ledger.try_reserve(~std::uint64_t{0} - 10));
  EXPECT_EQ(ledger.used(), 50u);
}

TEST(Ledger, lent_memory_is_not_used_until_it_comes_back) {
  Ledger ledger(100);
  ASSERT_TRUE(ledger.try_reserve(80));
  ledger.lend(80);
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_EQ(ledger.lent(), 80u);
  EXPECT_TRUE(ledger.try_reserve(100));
  ledger.release(100);
  ledger.take_back(80);
  EXPECT_EQ(ledger.used(), 80u);
  EXPECT_EQ(ledger.lent(), 0u);
}

TEST(Ledger, many_threads_never_exceed_the_budget) {
  Ledger ledger(1000);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i)
        if (ledger.try_reserve(300)) ledger.release(300);
    });
  threads.clear();
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_LE(ledger.peak(), 1000u);
}

}  // namespace
}  // namespace penstock
