#include "pack/pack_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace penstock {

void PackBuffer::free() {
  bytes_.reset();
  if (memory_ != nullptr) memory_->give_back(capacity_);
  size_ = capacity_ = 0;
}

Status PackBuffer::reserve(std::uint64_t capacity) {
  if (capacity <= capacity_) return {};
  // While it grows, the buffer has its old and its new memory.
  const std::uint64_t whole = capacity_ + capacity;
  refusal_ = memory_->take(position_, capacity, whole);
  if (refusal_ != PreparedMemory::Answer::kYes) {
    wanted_ = whole;
    return fail(ErrorCode::kNoMemory,
                fmt::format("a sample of at least {} bytes does not fit: memory= leaves {} bytes for one that is packed",
                            capacity, memory_->reserve_bytes()));
  }
  std::unique_ptr<std::byte[]> grown(new (std::nothrow) std::byte[capacity]);
  if (!grown) {
    memory_->give_back(capacity);
    return fail(ErrorCode::kNoMemory, "the system has no memory left");
  }
  if (size_ > 0) std::memcpy(grown.get(), bytes_.get(), size_);
  bytes_ = std::move(grown);
  memory_->give_back(std::exchange(capacity_, capacity));
  return {};
}

Result<MutableBytes> PackBuffer::append(std::uint64_t count) {
  if (size_ + count > capacity_) PENSTOCK_CHECK(reserve(std::max(size_ + count, size_ + size_ / 2)));
  const MutableBytes added(bytes_.get() + size_, count);
  size_ += count;
  return added;
}

Status PackBuffer::append(ConstBytes more) {
  const auto added = append(more.size());
  if (!added) return std::unexpected(added.error());
  if (!more.empty()) std::memcpy(added->data(), more.data(), more.size());
  return {};
}

}  // namespace penstock
