// A sample in the making, as other workers see it: they may hand it chunks that they have decoded before its own
// worker asks for them.
#pragma once

#include <memory>
#include <vector>

#include "base/memory/area.h"
#include "base/memory/memory_block.h"
#include "plan/sample_boxes.h"
#include "plan/chunk_id.h"

namespace penstock {

// Memory of an area, given back with it.
class AreaMemory {
 public:
  AreaMemory() = default;
  // Empty where the area, or the system, has no room.
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

struct OpenSample {
  // Set before others see it, constant from then on.
  SampleBoxes boxes;
  AreaMemory memory;  // of fields that more is done to than copying, where no worker has begun with them

  // Guarded by the shelf's mutex.
  std::vector<ChunkId> arrived;  // handed over by other workers
  std::vector<ChunkId> coming;   // being handed over
};

using OpenSamplePtr = std::shared_ptr<OpenSample>;

}  // namespace penstock
