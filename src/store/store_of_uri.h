// Which store reads what a user names: a path, or a URL.
#pragma once

#include "store/store.h"

namespace penstock {

// A store of its own for each call. Keys of it are what was given here, and names below it.
Result<std::shared_ptr<const Store>> make_store_for(const std::string& uri);

}  // namespace penstock
