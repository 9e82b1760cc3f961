// A sample in the making, as other workers see it: they may hand it chunks that they have decoded before its own
// worker asks for them.
#pragma once

#include <memory>
#include <vector>

#include "base/memory/area_memory.h"
#include "plan/sample_boxes.h"
#include "plan/chunk_id.h"

namespace penstock {

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
