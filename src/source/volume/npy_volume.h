// One .npy file as a chunked array: chunks are stretches of the file, so any part can be read by
// itself, and no more than the patches need is.
//
// A chunk is about 256 KiB and contiguous in the file: the fastest axes whole, one axis cut, the
// slower ones one entry thick. Fortran order is the same with the axes the other way round.
#pragma once

#include "source/chunked_array.h"

namespace penstock {

// Refuses numbers without an axis and arrays without elements. A file that changes later is kChanged
// when it is read.
Result<ChunkedArrayPtr> open_npy_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                        const std::string& key);

}  // namespace penstock
