// Finds the arrays below a group without consolidated metadata by listing.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace penstock {

// The names below `uri`, sorted; empty if the store cannot list. Chunks are never listed: the search enters
// neither arrays nor more than 8 levels of groups.
Result<std::vector<std::string>> list_zarr_arrays(const Store& store, const std::string& uri,
                                                  int zarr_version);

}  // namespace penstock
