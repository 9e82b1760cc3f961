// Allocates blocks of memory: the only interface behind batches, caches and scratch.
//
// PageAllocator is the default. An allocator of pinned memory, or of memory that processes share, is another
// subclass; whoever owns batches, scratch or decoded chunks accepts any (BatchPool, VariableMemory, ScratchBudget,
// DecodedChunkCache). Allocators do not count what they give: a caller reserves bytes in the Ledger first, and then
// allocates.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace penstock {

// Thread-safe. MemoryBlocks share ownership of their allocator.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // At least `size` bytes (`size` > 0), aligned for elements of any type. Empty if there is no memory.
  virtual MutableBytes allocate(std::size_t size) = 0;
  // Takes back a whole block that allocate() returned.
  virtual void free(MutableBytes block) = 0;
  // Whether the bytes of a new block are 0, so that nobody need clear them.
  virtual bool gives_zeros() const { return false; }
};

// Gives pages straight from the kernel, in huge pages where the block is large. Blocks are aligned to a page.
//
// It does not use malloc, for two reasons: first-touch page faults on small pages cost half the time of big batches,
// and a block that is freed must leave the process at once so that the memory budget holds.
class PageAllocator final : public Allocator {
 public:
  MutableBytes allocate(std::size_t size) override;
  void free(MutableBytes block) override;
  bool gives_zeros() const override { return true; }
};

// Gives blocks of exactly the size that is asked for, from the heap.
//
// It is for blocks that are small, of which each would waste most of a page, and for those that live only for a
// moment, which the heap gives again without page faults.
class HeapAllocator final : public Allocator {
 public:
  MutableBytes allocate(std::size_t size) override;
  void free(MutableBytes block) override;
};

// Gives small blocks from the heap, and all others from another allocator.
class SmallOnHeapAllocator final : public Allocator {
 public:
  static constexpr std::size_t kLarge = 256 << 10;  // from here on whole pages serve better than the heap

  explicit SmallOnHeapAllocator(std::shared_ptr<Allocator> large) : large_(std::move(large)) {}
  MutableBytes allocate(std::size_t size) override;
  void free(MutableBytes block) override;

 private:
  const std::shared_ptr<Allocator> large_;
};

// The allocators of this process, which are never destroyed. The third takes large blocks from the first.
const std::shared_ptr<Allocator>& page_allocator();
const std::shared_ptr<Allocator>& heap_allocator();
const std::shared_ptr<Allocator>& small_on_heap_allocator();

}  // namespace penstock
