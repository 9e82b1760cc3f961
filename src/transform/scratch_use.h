// Which scratch buffer of a worker is for what.
#pragma once

namespace penstock {

// There are three pixel buffers: one for the value, one for a value that must stay as it is because another field
// derives from it, and one to write to.
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
  kScratchCodec,  // and the one after it
};

}  // namespace penstock
