// Decodes gzip (RFC 1952, any number of members) and zlib (RFC 1950) data that are completely in memory.
#pragma once

#include "base/bytes.h"
#include "penstock/result.h"

struct libdeflate_decompressor;

namespace penstock {

bool reads_deflate();

// Keeps the library's state from one call to the next. Belongs to one thread.
class Inflater {
 public:
  Inflater() = default;
  ~Inflater();
  Inflater(const Inflater&) = delete;

  // Returns the number of decoded bytes. Verifies checksums. Fails if `out` is too small, or if bytes are
  // left over (except zeros after gzip members, which gzip itself allows).
  Result<std::size_t> decode_gzip(ConstBytes members, MutableBytes out);
  Result<std::size_t> decode_zlib(ConstBytes stream, MutableBytes out);

 private:
  Status prepare();

  libdeflate_decompressor* state_ = nullptr;
};

}  // namespace penstock
