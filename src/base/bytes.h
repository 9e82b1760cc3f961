// Spans of raw bytes, and memory that can be given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace penstock {

using ConstBytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline ConstBytes as_bytes(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

// A block of page-aligned memory straight from the kernel, in huge pages where it is large.
//
// Why not malloc: first-touch page faults cost the peers half their time on big batches, and a
// block that is freed must leave the process at once so that the memory budget holds.
// Move-only; an empty block has size 0. allocate() returns an empty block when there is no memory.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  static MemoryBlock allocate(std::size_t size);
  MemoryBlock(MemoryBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    MemoryBlock old(std::move(*this));
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MemoryBlock();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace penstock
