// Zstandard frames, one behind the other, straight to where their content belongs.
#pragma once

#include "base/bytes.h"
#include "penstock/result.h"

struct ZSTD_DCtx_s;

namespace penstock {

bool reads_zstd();

// Keeps the library's state, which is dear to make, from one call to the next. Belongs to one thread.
class ZstdFrames {
 public:
  ZstdFrames() = default;
  ~ZstdFrames();
  ZstdFrames(const ZstdFrames&) = delete;

  // How many bytes came out of all of `frames`. Fails where that would be more than `out` holds.
  Result<std::size_t> decode(ConstBytes frames, MutableBytes out);

 private:
  ZSTD_DCtx_s* context_ = nullptr;
};

}  // namespace penstock
