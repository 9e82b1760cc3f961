#include "base/memory/memory_block.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/counting_allocator.h"

namespace penstock {
namespace {

TEST(MemoryBlock, large_blocks_are_whole_and_moves_leave_nothing_behind) {
  MemoryBlock block = MemoryBlock::allocate(5'000'000);
  ASSERT_GE(block.size(), 5'000'000u);
  std::memset(block.data(), 7, block.size());
  MemoryBlock other = std::move(block);
  EXPECT_EQ(block.size(), 0u);  // NOLINT: what a move leaves is part of the promise
  EXPECT_EQ(other.data()[4'999'999], std::byte{7});
  other = MemoryBlock::allocate(10);
  EXPECT_LT(other.size(), 5'000'000u);
  EXPECT_EQ(MemoryBlock::allocate(0).data(), nullptr);
  EXPECT_EQ(MemoryBlock::allocate(std::size_t{1} << 60).size(), 0u) << "no memory is no crash";
}

TEST(MemoryBlock, goes_back_to_the_allocator_that_it_came_from) {
  const auto allocator = std::make_shared<CountingAllocator>();
  MemoryBlock block = MemoryBlock::allocate(100, allocator);
  EXPECT_GE(block.size(), 100u);
  EXPECT_EQ(allocator->blocks, 1);
  MemoryBlock other = MemoryBlock::allocate(100);
  other = std::move(block);
  EXPECT_EQ(allocator->blocks, 1) << "a move";
  other = MemoryBlock::allocate(100);
  EXPECT_EQ(allocator->blocks, 0);
  allocator->refuses = true;
  EXPECT_EQ(MemoryBlock::allocate(100, allocator).size(), 0u);
  EXPECT_EQ(allocator.use_count(), 1) << "empty blocks hold no allocator";
}

}  // namespace
}  // namespace penstock
