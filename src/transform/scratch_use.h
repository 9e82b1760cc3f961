// The purpose of each scratch buffer of a worker.
#pragma once

namespace penstock {

// There are three pixel buffers: one for the value, one for a value that must not change because another field derives
// from it, and one to write to.
enum ScratchUse : int {
  kScratchEncoded,
  kScratchDecoded,
  kScratchRow,
  kScratchPixels0,
  kScratchPixels1,
  kScratchPixels2,
  kScratchRecord,
  kScratchChunk,
  kScratchSample,
  kScratchCached,
  kScratchCodec,  // this buffer and the next one
};

}  // namespace penstock
