#include "base/memory/area_memory.h"

#include <utility>

namespace penstock {

AreaMemory::AreaMemory(std::shared_ptr<Area> area, std::size_t bytes) {
  if (!area->try_reserve(bytes)) return;
  block_ = MemoryBlock::allocate(bytes);
  if (block_.size() < bytes) {
    area->release(bytes);
    block_ = MemoryBlock();
    return;
  }
  area_ = std::move(area);
  reserved_ = bytes;
}

AreaMemory& AreaMemory::operator=(AreaMemory&& other) noexcept {
  free();
  area_ = std::move(other.area_);
  reserved_ = other.reserved_;
  block_ = std::move(other.block_);
  return *this;
}

void AreaMemory::free() {
  if (area_) area_->release(reserved_);
  area_.reset();
  block_ = MemoryBlock();
}

}  // namespace penstock
