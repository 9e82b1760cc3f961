#include "batch/batch_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/counting_allocator.h"

namespace penstock {
namespace {

constexpr std::size_t kBlock = 4096;

TEST(BatchPool, hands_out_what_the_area_holds_and_reuses_it) {
  auto ledger = std::make_shared<Ledger>(10 * kBlock);
  auto pool = std::make_shared<BatchPool>(ledger, kBlock, 2 * kBlock);
  MemoryBlock a = pool->try_take(false), b = pool->try_take(false);
  EXPECT_GT(a.size(), 0u);
  EXPECT_GT(b.size(), 0u);
  EXPECT_EQ(pool->try_take(false).size(), 0u) << "the area is full";
  std::byte* address = a.data();
  pool->put_back(std::move(a));
  EXPECT_EQ(pool->try_take(false).data(), address);
  EXPECT_EQ(ledger->used(), 2 * kBlock);
}

TEST(BatchPool, what_must_be_had_is_granted_beside_blocks_that_are_lent) {
  auto ledger = std::make_shared<Ledger>(3 * kBlock);
  auto pool = std::make_shared<BatchPool>(ledger, kBlock, kBlock);
  const std::shared_ptr<void> lent = pool->lend(pool->try_take(false));
  EXPECT_EQ(pool->try_take(false).size(), 0u);
  MemoryBlock a = pool->try_take(true);
  EXPECT_GT(a.size(), 0u);
  EXPECT_EQ(pool->try_take(true).size(), 0u) << "the area is full, and other memory is not for batches";
}

TEST(BatchPool, lent_blocks_come_back_by_themselves_and_wake_who_waits) {
  auto ledger = std::make_shared<Ledger>(10 * kBlock);
  auto pool = std::make_shared<BatchPool>(ledger, kBlock, kBlock);
  std::atomic<int> woken = 0;
  pool->on_return([&] { ++woken; });
  std::shared_ptr<void> lent = pool->lend(pool->try_take(false));
  EXPECT_EQ(ledger->lent(), kBlock);
  EXPECT_EQ(ledger->used(), 0u);
  std::shared_ptr<void> copy = lent;
  lent.reset();
  EXPECT_EQ(woken, 0) << "a copy lives";
  std::jthread([&] { copy.reset(); }).join();
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(ledger->lent(), 0u);
  EXPECT_GT(pool->try_take(false).size(), 0u);
  pool->on_return({});
}

TEST(BatchPool, blocks_beyond_the_area_leave_the_process_and_the_ledger) {
  auto ledger = std::make_shared<Ledger>(10 * kBlock);
  auto pool = std::make_shared<BatchPool>(ledger, kBlock, 2 * kBlock);
  std::vector<std::shared_ptr<void>> lent;
  for (int i = 0; i < 6; ++i) lent.push_back(pool->lend(pool->try_take(true)));
  EXPECT_EQ(ledger->lent(), 6 * kBlock);
  lent.clear();
  EXPECT_EQ(ledger->used(), 2 * kBlock);
  EXPECT_LE(ledger->peak(), 10 * kBlock);
}

TEST(BatchPool, coming_back_never_exceeds_the_budget_even_for_a_moment) {
  auto ledger = std::make_shared<Ledger>(2 * kBlock);
  auto pool = std::make_shared<BatchPool>(ledger, kBlock, 2 * kBlock);
  std::vector<std::shared_ptr<void>> lent;
  for (int i = 0; i < 4; ++i) lent.push_back(pool->lend(pool->try_take(true)));
  MemoryBlock a = pool->try_take(true), b = pool->try_take(true);
  ASSERT_GT(b.size(), 0u);
  lent.clear();
  EXPECT_LE(ledger->peak(), ledger->budget());
  pool->put_back(std::move(a));
  pool->put_back(std::move(b));
}

TEST(BatchPool, outlives_the_loader_while_a_batch_is_out) {
  auto ledger = std::make_shared<Ledger>(10 * kBlock);
  std::shared_ptr<void> lent;
  {
    auto pool = std::make_shared<BatchPool>(ledger, kBlock, kBlock);
    lent = pool->lend(pool->try_take(false));
  }
  static_cast<std::byte*>(lent.get())[kBlock - 1] = std::byte{1};
  lent.reset();
  EXPECT_EQ(ledger->used(), 0u);
}

TEST(BatchPool, blocks_come_from_the_allocator_and_go_back_to_it) {
  auto ledger = std::make_shared<Ledger>(10 * kBlock);
  const auto allocator = std::make_shared<CountingAllocator>();
  auto pool = std::make_shared<BatchPool>(ledger, kBlock, 4 * kBlock, allocator);
  std::shared_ptr<void> lent = pool->lend(pool->try_take(false));
  pool->put_back(pool->try_take(false));
  EXPECT_EQ(allocator->blocks, 2);
  pool->put_back(pool->try_take(false));
  EXPECT_EQ(allocator->allocations, 2) << "a free block is reused";
  pool.reset();
  EXPECT_EQ(allocator->blocks, 2) << "the lent block keeps the pool";
  lent.reset();
  EXPECT_EQ(allocator->blocks, 0);
  EXPECT_EQ(ledger->used(), 0u);
}

TEST(BatchPool, an_allocator_without_memory_gives_no_block_and_takes_nothing_from_the_budget) {
  auto ledger = std::make_shared<Ledger>(10 * kBlock);
  const auto allocator = std::make_shared<CountingAllocator>();
  auto pool = std::make_shared<BatchPool>(ledger, kBlock, 4 * kBlock, allocator);
  allocator->refuses = true;
  for (const bool must : {false, true}) EXPECT_EQ(pool->try_take(must).size(), 0u);
  EXPECT_EQ(ledger->used(), 0u);
  allocator->refuses = false;
  EXPECT_GT(pool->try_take(false).size(), 0u) << "the refusals used up no part of the area";
}

}  // namespace
}  // namespace penstock
