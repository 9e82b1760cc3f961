// Allocates blocks of memory: the only interface behind batches, caches and scratch.
//
// PageAllocator is the default. An allocator of pinned memory, or of memory that processes share, is another
// subclass; BatchPool and ScratchBudget accept any. Allocators do not count what they give: a caller reserves bytes
// in the Ledger first, and then allocates.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"

namespace penstock {

// Thread-safe. MemoryBlocks share ownership of their allocator.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // At least `size` bytes (`size` > 0), aligned to a page. Empty if there is no memory.
  virtual MutableBytes allocate(std::size_t size) = 0;
  // Takes back a whole block that allocate() returned.
  virtual void free(MutableBytes block) = 0;
};

// Gives pages straight from the kernel, in huge pages where the block is large.
//
// It does not use malloc, for two reasons: first-touch page faults on small pages cost half the time of big batches,
// and a block that is freed must leave the process at once so that the memory budget holds.
class PageAllocator final : public Allocator {
 public:
  MutableBytes allocate(std::size_t size) override;
  void free(MutableBytes block) override;
};

// The PageAllocator of this process. It is never destroyed.
const std::shared_ptr<Allocator>& page_allocator();

}  // namespace penstock
