// One .npy file as a chunked array. A chunk is a contiguous stretch of about 256 KiB of the file, so a patch reads
// little more than it needs.
//
// A chunk has the full extent of the fastest axes, a part of one axis, and one entry of the slower axes. In
// Fortran order the axes are reversed.
#pragma once

#include "source/chunked_array.h"

namespace penstock {

// Fails for arrays without axes or without elements. If the file changes later, reading fails with kChanged.
Result<ChunkedArrayPtr> open_npy_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                        const std::string& key);

}  // namespace penstock
