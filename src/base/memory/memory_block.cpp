#include "base/memory/memory_block.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace penstock {

MemoryBlock MemoryBlock::allocate(std::size_t size, const std::shared_ptr<Allocator>& allocator) {
  MemoryBlock block;
  if (size == 0) return block;
  block.bytes_ = allocator->allocate(size);
  if (!block.bytes_.empty()) block.allocator_ = allocator;
  return block;
}

MemoryBlock::~MemoryBlock() {
  if (bytes_.empty()) return;
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(bytes_.data(), bytes_.size());
#endif
  allocator_->free(bytes_);
}

}  // namespace penstock
