// A block of memory that is reserved in an area of the ledger and given back with it. Movable; the area is shared.
#pragma once

#include <memory>

#include "base/memory/area.h"
#include "base/memory/memory_block.h"

namespace penstock {

class AreaMemory {
 public:
  AreaMemory() = default;
  // Returns an empty object if the area or the system does not have so much memory.
  AreaMemory(std::shared_ptr<Area> area, std::size_t bytes);
  AreaMemory(AreaMemory&& other) noexcept = default;
  AreaMemory& operator=(AreaMemory&& other) noexcept;
  ~AreaMemory() { free(); }

  std::byte* data() const { return block_.data(); }
  explicit operator bool() const { return area_ != nullptr; }

 private:
  void free();

  std::shared_ptr<Area> area_;
  std::size_t reserved_ = 0;
  MemoryBlock block_;
};

}  // namespace penstock
