// LZ4 as numcodecs stores it: a little-endian uint32 of the decoded size, then one block.
#pragma once

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

bool reads_lz4();

// Returns the number of decoded bytes. Fails if `out` is too small. Thread-safe.
Result<std::size_t> decode_lz4(ConstBytes bytes, MutableBytes out);

}  // namespace penstock
