// One volume, whatever it is stored as.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "source/chunked_array.h"

namespace penstock {

// A Zarr array, a .npy file, a TIFF stack (a file, or a pattern or folder of files, a plane each). The
// store is kept by the array.
Result<ChunkedArrayPtr> open_volume(const std::string& uri, bool missing_is_error,
                                    const std::vector<std::string>& headers = {});

}  // namespace penstock
