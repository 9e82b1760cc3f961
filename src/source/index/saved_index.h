// Files in which indexes are saved between runs, in the user's cache folder (docs/decisions/0001). All functions
// are thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

// The file of a data set. `directory` "" means PENSTOCK_CACHE_DIR, else XDG_CACHE_HOME/penstock, else
// ~/.cache/penstock. Returns "" if none of them is set.
std::string saved_index_path(const std::string& directory, const std::string& root, const std::string& kind);

// save_index() replaces the file atomically, so that readers see either the old index or the new one, and makes it
// readable for its owner only. A failure to write is ignored: the next run scans the data again. Indexes are local
// files, even if the data are on a server.
Result<std::vector<std::byte>> read_saved_index(const std::string& path);
void save_index(const std::string& path, ConstBytes bytes);
void delete_saved_index(const std::string& path);

}  // namespace penstock
