// Which store reads what a user names: a path, or a URL.
#pragma once

#include <string>
#include <vector>

#include "store/http/http_url.h"
#include "store/object_key.h"
#include "store/store.h"

namespace penstock {

// A store of its own for each call. Its keys are object_key(uri) and names below that: the userinfo
// and the query of a URL stay within the store, which adds them to its requests to the same server, as it
// does with `headers` ("Name: value"; of no use to a path).
Result<std::shared_ptr<const Store>> make_store_for(const std::string& uri,
                                                    const std::vector<std::string>& headers = {});

}  // namespace penstock
