// Where indexes are kept between runs: the user's cache folder (docs/decisions/0001).
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

// `directory` "" means PENSTOCK_CACHE_DIR, else XDG_CACHE_HOME/penstock, else ~/.cache/penstock;
// "" comes back where there is none of them.
std::string saved_index_path(const std::string& directory, const std::string& root, const std::string& kind);

// save_index() replaces the file at once, so that readers see the old index or the new one, and lets only its owner
// read it. A folder that cannot be written to is no error: the next run scans again.
// Indexes are files, wherever the data are.
Result<std::vector<std::byte>> read_saved_index(const std::string& path);
void save_index(const std::string& path, ConstBytes bytes);
void delete_saved_index(const std::string& path);

}  // namespace penstock
