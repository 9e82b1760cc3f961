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

// A block of page-aligned memory straight from the kernel.
//
// Why not malloc: a block that is freed must leave the process at once so that the memory budget
// holds. Why not huge pages: they are quicker to fault in where the host has backed them, and
// several times slower on virtual machines where it has not.
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
    std::swap(was_used_, other.was_used_);
    return *this;
  }
  ~MemoryBlock();

  std::byte* data() const { return data_; }
  bool was_used() const { return was_used_; }
  void set_used() { was_used_ = true; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool was_used_ = false;
};

// Has the kernel provide the pages under `bytes` in one call instead of a fault for each: for large
// pieces of a block that was never used. A hint; old kernels do not know it.
void populate(MutableBytes bytes);

}  // namespace penstock
