// Decodes consecutive Zstandard frames directly into the memory of the caller.
#pragma once

#include "base/bytes.h"
#include "penstock/result.h"

struct ZSTD_DCtx_s;

namespace penstock {

bool reads_zstd();

// Keeps the library's state, which is expensive to make, from one call to the next. Belongs to one thread.
class ZstdFrames {
 public:
  ZstdFrames() = default;
  ~ZstdFrames();
  ZstdFrames(const ZstdFrames&) = delete;

  // Returns the number of decoded bytes of all frames. Fails if `out` is too small.
  Result<std::size_t> decode(ConstBytes frames, MutableBytes out);

 private:
  ZSTD_DCtx_s* context_ = nullptr;
};

}  // namespace penstock
