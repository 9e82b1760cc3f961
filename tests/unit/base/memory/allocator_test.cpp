#include "base/memory/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/memory/memory_block.h"
#include "support/counting_allocator.h"

namespace penstock {
namespace {

TEST(PageAllocator, gives_pages_of_zeros) {
  const MemoryBlock block = MemoryBlock::allocate(3'000'000, page_allocator());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 4096, 0u);
  EXPECT_TRUE(page_allocator()->gives_zeros());
  EXPECT_TRUE(std::all_of(block.data(), block.data() + block.size(), [](std::byte b) { return b == std::byte{}; }));
}

TEST(HeapAllocator, gives_exactly_what_is_asked_for) {
  for (const std::size_t size : {1u, 100u, 5'000'000u}) {
    const MemoryBlock block = MemoryBlock::allocate(size, heap_allocator());
    ASSERT_EQ(block.size(), size);
    std::memset(block.data(), 7, size);
  }
  EXPECT_FALSE(heap_allocator()->gives_zeros());
}

TEST(SmallOnHeapAllocator, takes_only_large_blocks_from_the_other) {
  const auto large = std::make_shared<CountingAllocator>();
  const auto both = std::make_shared<SmallOnHeapAllocator>(large);
  MemoryBlock below = MemoryBlock::allocate(SmallOnHeapAllocator::kLarge - 1, both);
  EXPECT_EQ(below.size(), SmallOnHeapAllocator::kLarge - 1);
  EXPECT_EQ(large->blocks, 0);
  MemoryBlock from = MemoryBlock::allocate(SmallOnHeapAllocator::kLarge, both);
  EXPECT_EQ(large->blocks, 1);
  below = MemoryBlock();
  EXPECT_EQ(large->blocks, 1) << "it went back to the heap";
  from = MemoryBlock();
  EXPECT_EQ(large->blocks, 0);
  large->refuses = true;
  EXPECT_EQ(MemoryBlock::allocate(SmallOnHeapAllocator::kLarge, both).size(), 0u);
}

}  // namespace
}  // namespace penstock
