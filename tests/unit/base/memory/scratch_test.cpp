#include "base/memory/scratch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "support/counting_allocator.h"

namespace penstock {
namespace {

constexpr std::uint64_t kKiB = 1024;

TEST(Scratch, buffers_are_writable_counted_and_kept) {
  Ledger ledger(1000 * kKiB);
  ScratchBudget budget(ledger, 500 * kKiB, 0);
  {
    Scratch scratch(budget);
    const auto memory = scratch.get(0, 100 * kKiB);
    ASSERT_TRUE(memory);
    std::memset(memory->data(), 1, memory->size());
    EXPECT_GE(ledger.used(), 100 * kKiB);
    const auto used = ledger.used();
    scratch.end_sample();
    EXPECT_EQ(ledger.used(), used) << "kept for the next sample";
    EXPECT_EQ(scratch.get(0, 50 * kKiB)->data(), memory->data());
  }
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Scratch, more_than_share_and_pot_is_refused_by_size_alone) {
  Ledger ledger(1000 * kKiB);
  ScratchBudget budget(ledger, 128 * kKiB, 256 * kKiB);
  Scratch scratch(budget);
  EXPECT_TRUE(scratch.get(0, 384 * kKiB));
  const auto refused = scratch.get(1, 64 * kKiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNoMemory);
  EXPECT_NE(refused.error().message.find("memory="), std::string::npos) << "says what to do";
  scratch.end_sample();
  EXPECT_LE(ledger.used(), 128 * kKiB) << "what exceeds the share was given back";
  EXPECT_TRUE(scratch.get(1, 64 * kKiB));
}

TEST(Scratch, one_worker_at_a_time_holds_the_pot) {
  Ledger ledger(1000 * kKiB);
  ScratchBudget budget(ledger, 64 * kKiB, 512 * kKiB);
  Scratch first(budget);
  ASSERT_TRUE(first.get(0, 500 * kKiB));
  std::atomic<bool> second_has_it = false;
  std::jthread other([&] {
    Scratch second(budget);
    EXPECT_TRUE(second.get(0, 500 * kKiB));
    second_has_it = true;
    second.end_sample();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(second_has_it);
  first.end_sample();
  other.join();
  EXPECT_TRUE(second_has_it);
  EXPECT_LE(ledger.peak(), 64 * kKiB * 2 + 512 * kKiB);
}

TEST(Scratch, charges_for_libraries_end_with_the_sample) {
  Ledger ledger(1000 * kKiB);
  ScratchBudget budget(ledger, 100 * kKiB, 0);
  Scratch scratch(budget);
  EXPECT_TRUE(scratch.charge(90 * kKiB));
  EXPECT_FALSE(scratch.charge(20 * kKiB));
  EXPECT_EQ(ledger.used(), 90 * kKiB);
  scratch.end_sample();
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_TRUE(scratch.charge(0));
  EXPECT_TRUE(scratch.charge(100 * kKiB));
}

TEST(Scratch, a_refusal_leaves_the_books_straight) {
  Ledger ledger(200 * kKiB);
  ScratchBudget budget(ledger, 1000 * kKiB, 0);  // promises more than there is
  {
    Scratch scratch(budget);
    EXPECT_TRUE(scratch.get(0, 128 * kKiB));
    EXPECT_FALSE(scratch.get(0, 512 * kKiB));
    EXPECT_EQ(ledger.used(), 0u) << "the old block was given up first";
    EXPECT_TRUE(scratch.get(0, 128 * kKiB));
  }
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Scratch, a_size_near_the_largest_number_is_refused) {
  Ledger ledger(200 * kKiB);
  ScratchBudget budget(ledger, 100 * kKiB, 100 * kKiB);
  Scratch scratch(budget);
  EXPECT_FALSE(scratch.get(0, ~std::size_t{0}));
  EXPECT_FALSE(scratch.get(0, ~std::size_t{0} - 70'000));
  EXPECT_FALSE(scratch.charge(~std::uint64_t{0}));
}

TEST(Scratch, who_borrows_the_pot_gives_back_what_is_needed) {
  struct Borrower final : PotBorrower {
    void give_back(std::uint64_t bytes) override { given_back += bytes; }
    void borrow() override { given_back = 0; }
    std::uint64_t given_back = 0;
  } borrower;
  Ledger ledger(1000 * kKiB);
  ScratchBudget budget(ledger, 128 * kKiB, 512 * kKiB);
  Scratch scratch(budget, &borrower);
  ASSERT_TRUE(scratch.get(0, 64 * kKiB));
  EXPECT_EQ(borrower.given_back, 0u) << "within the share";
  ASSERT_TRUE(scratch.get(1, 192 * kKiB));
  EXPECT_EQ(borrower.given_back, 192 * kKiB);
  ASSERT_TRUE(scratch.charge(64 * kKiB));
  EXPECT_EQ(borrower.given_back, 256 * kKiB);
  scratch.end_sample();
  EXPECT_EQ(borrower.given_back, 0u);
}

TEST(Scratch, buffers_come_from_the_allocator_of_the_budget) {
  const auto allocator = std::make_shared<CountingAllocator>();
  Ledger ledger(1 << 20);
  ScratchBudget budget(ledger, 1 << 20, 0);
  budget.allocator = allocator;
  {
    Scratch scratch(budget);
    ASSERT_TRUE(scratch.get(0, 1000));
    EXPECT_EQ(allocator->blocks, 1);
    allocator->refuses = true;
    EXPECT_EQ(scratch.get(1, 1000).error().code, ErrorCode::kNoMemory);
  }
  EXPECT_EQ(allocator->blocks, 0);
  EXPECT_EQ(ledger.used(), 0u);
}

}  // namespace
}  // namespace penstock
