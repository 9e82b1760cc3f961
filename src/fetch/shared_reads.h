// The readers that the workers of one epoch share.
//
// All pointers are borrowed: the epoch owns the readers and outlives the work on its samples. Workers may use the
// readers at the same time.
#pragma once

#include <cstdint>

#include "fetch/lookahead.h"
#include "fetch/stream_blocks.h"

namespace penstock {

class SampleCache;

struct SharedReads {
  StreamBlocks* streams = nullptr;       // nullptr: no object of the source is compressed as a whole
  Lookahead* lookahead = nullptr;        // nullptr: samples share no chunks, and nothing is read ahead
  const SampleCache* cache = nullptr;    // nullptr: nothing is cached
  std::uint64_t epoch = 0;               // unique in the process: files may have changed since another epoch

  // Returns nullptr if nothing is read ahead.
  ReadAhead* ahead() const { return lookahead != nullptr ? lookahead->ahead() : nullptr; }
};

}  // namespace penstock
