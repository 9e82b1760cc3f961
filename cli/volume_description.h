// Describes a TIFF volume for which no patch size is given yet.
#pragma once

#include <string>

#include "penstock/result.h"
#include "source/chunked_array.h"

namespace penstock::cli {

// Judges by the name of the file.
bool is_tiff_file(const std::string& uri);
Result<ChunkedArrayPtr> open_tiff_file(const std::string& uri);

void print_volume(const ChunkedArray& volume, bool as_json);

}  // namespace penstock::cli
