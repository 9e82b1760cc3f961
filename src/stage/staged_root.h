// The folder of a source that a staged folder mirrors.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace penstock {

// The key of the folder that an object stands in.
std::string folder_of(const std::string& key);

// Where names begin for a data set that is made of these paths and URLs: a folder itself, the folder of an object, the
// folder before the first wildcard or brace of a pattern, and what several of them have in common. A key of `store`,
// without a slash at its end; "" is the working folder. `uri` is the one that `store` was made for: URLs of several
// servers have nothing in common, and then it counts alone.
std::string staged_root(const Store& store, const std::string& uri, const std::vector<std::string>& uris);

}  // namespace penstock
