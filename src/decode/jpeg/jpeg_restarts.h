// Rewrites JPEGs without loss, so that a crop can be decoded without what lies above and beside it.
//
// The result has the same coefficients, quantisation tables and markers (EXIF, ICC profile, Adobe, comments), and any
// program reads it. It is baseline with one scan, and has restart markers at least once per row of MCUs, at which
// JpegCodec enters the image. See docs/decisions/0038.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/limits.h"
#include "penstock/result.h"

namespace penstock {

// Returns an upper bound of the memory that rewrite_with_restarts() takes, its result included. Reserve it first. Reads
// only the header.
Result<std::uint64_t> restart_rewriting_bytes(ConstBytes encoded, const Limits& limits = {});

// Fails as the decoder does if the file is damaged, beyond the limits, or the thread's Interruption is requested
// (kStopped). kUnsupported means that the file is valid and should be kept as it is: libjpeg can read it but not write
// it as one baseline scan, or it would become more than twice as large. Bytes behind the end marker are dropped.
//
// The same bytes give the same result with the same libjpeg. Thread-safe.
Result<std::vector<std::byte>> rewrite_with_restarts(ConstBytes encoded, const Limits& limits = {});

}  // namespace penstock
