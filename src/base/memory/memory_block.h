// A block of memory that goes back to its allocator when it is destroyed.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/memory/allocator.h"

namespace penstock {

// Owns its memory; can be moved but not copied. A default-constructed or moved-from block is empty (size 0, data
// nullptr). Blocks are not counted anywhere: the caller reserves bytes in the Ledger first. Thread-compatible.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  // At least `size` bytes. Returns an empty block if there is no memory, or if `size` is 0.
  static MemoryBlock allocate(std::size_t size, const std::shared_ptr<Allocator>& allocator = page_allocator());
  MemoryBlock(MemoryBlock&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        allocator_(std::move(other.allocator_)) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    MemoryBlock old(std::move(*this));
    std::swap(bytes_, other.bytes_);
    std::swap(allocator_, other.allocator_);
    return *this;
  }
  ~MemoryBlock();

  std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

 private:
  MutableBytes bytes_;
  std::shared_ptr<Allocator> allocator_;
};

}  // namespace penstock
