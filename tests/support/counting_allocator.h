// An allocator that counts its blocks and refuses on demand. New blocks are not zero, as those of other allocators may
// not be.
#pragma once

#include <atomic>
#include <cstring>

#include "base/memory/allocator.h"

namespace penstock {

// Thread-safe.
class CountingAllocator final : public Allocator {
 public:
  MutableBytes allocate(std::size_t size) override {
    if (refuses) return {};
    ++allocations;
    ++blocks;
    const MutableBytes block = page_allocator()->allocate(size);
    if (!block.empty()) std::memset(block.data(), 0xAB, block.size());
    return block;
  }
  void free(MutableBytes block) override {
    --blocks;
    page_allocator()->free(block);
  }

  std::atomic<bool> refuses = false;
  std::atomic<int> blocks = 0;       // that are allocated now
  std::atomic<int> allocations = 0;  // so far
};

}  // namespace penstock
