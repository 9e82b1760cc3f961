// An allocator that counts its blocks and refuses on demand.
#pragma once

#include <atomic>

#include "base/memory/allocator.h"

namespace penstock {

// Thread-safe.
class CountingAllocator final : public Allocator {
 public:
  MutableBytes allocate(std::size_t size) override {
    if (refuses) return {};
    ++allocations;
    ++blocks;
    return page_allocator()->allocate(size);
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
