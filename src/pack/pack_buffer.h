// The bytes of one prepared sample, in memory that is taken from PreparedMemory before it is allocated.
//
// A request that is refused fails with kNoMemory; refusal() says whether it may succeed later. Moves between threads, and
// belongs to one at a time. The PreparedMemory must outlive it.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "pack/prepared_memory.h"

namespace penstock {

class PackBuffer {
 public:
  PackBuffer() = default;  // empty; cannot grow
  PackBuffer(PreparedMemory& memory, std::uint64_t position) : memory_(&memory), position_(position) {}
  PackBuffer(PackBuffer&& other) noexcept { *this = std::move(other); }
  PackBuffer& operator=(PackBuffer&& other) noexcept {
    free();
    memory_ = other.memory_;
    position_ = other.position_;
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    refusal_ = other.refusal_;
    return *this;
  }
  ~PackBuffer() { free(); }

  ConstBytes bytes() const { return {bytes_.get(), size_}; }
  MutableBytes bytes() { return {bytes_.get(), size_}; }
  std::uint64_t size() const { return size_; }

  // Makes room for `capacity` bytes in all.
  Status reserve(std::uint64_t capacity);
  Status append(ConstBytes more);
  // Appends bytes that the caller fills. They stay in place until the next call that appends.
  Result<MutableBytes> append(std::uint64_t count);
  void resize_down(std::uint64_t size) { size_ = size; }

  PreparedMemory::Answer refusal() const { return refusal_; }
  std::uint64_t wanted() const { return wanted_; }  // what was refused

 private:
  void free();

  PreparedMemory* memory_ = nullptr;
  std::uint64_t position_ = 0, wanted_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t size_ = 0, capacity_ = 0;
  PreparedMemory::Answer refusal_ = PreparedMemory::Answer::kYes;
};

}  // namespace penstock
