// What a TIFF volume is, before anybody says which patches of it are samples.
#pragma once

#include <string>

#include "penstock/result.h"
#include "source/chunked_array.h"

namespace penstock::cli {

// By its name.
bool is_tiff_file(const std::string& uri);
Result<ChunkedArrayPtr> open_tiff_file(const std::string& uri);

void print_volume(const ChunkedArray& volume, bool as_json);

}  // namespace penstock::cli
