// The arrays below a group whose metadata are not consolidated, found by listing.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace penstock {

// Names below `uri`, sorted; none where the store cannot list. Chunks are never listed: the search does
// not go into arrays, nor deeper than 8 groups.
Result<std::vector<std::string>> list_zarr_arrays(const Store& store, const std::string& uri,
                                                  int zarr_version);

}  // namespace penstock
