// A sample in the making, as other workers see it: they may copy chunks to it before its own worker asks for them.
#pragma once

#include <memory>
#include <vector>

#include "base/guarded.h"
#include "base/memory/area_memory.h"
#include "plan/sample_boxes.h"
#include "plan/chunk_id.h"

namespace penstock {

class DecodedChunkCache;
using ChunkCacheMutex = ClassMutex<DecodedChunkCache>;

struct OpenSample {
  // Both are set before other workers see the sample, and are constant from then on.
  SampleBoxes boxes;
  AreaMemory memory;  // for fields that need more than copying, if no worker has begun with the sample

  std::vector<ChunkId> arrived PENSTOCK_GUARDED_BY(ChunkCacheMutex::held);  // copied by other workers
  std::vector<ChunkId> coming PENSTOCK_GUARDED_BY(ChunkCacheMutex::held);   // being copied
};

using OpenSamplePtr = std::shared_ptr<OpenSample>;

}  // namespace penstock
