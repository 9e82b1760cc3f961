// Computes how much memory libwebp allocates for the Huffman codes of a lossless image.
//
// A lossless image may have up to 65,536 groups of five Huffman codes, and libwebp keeps tables of some 12
// KiB for each: a file of 300 KB can ask for 770 MB. The number of groups comes after other compressed data,
// so this code decodes the file up to there, and keeps nothing of it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

// `stream` begins after the header with the size (5 bytes in a "VP8L" chunk, 1 byte in an "ALPH" chunk).
Result<std::uint64_t> webp_huffman_bytes(ConstBytes stream, std::uint32_t width, std::uint32_t height);

}  // namespace penstock
