// Objects of stores where a request takes long (those that want reads ahead), read forward: what comes
// next is read before it is asked for, over several connections. `store` outlives the object.
#pragma once

#include <stop_token>

#include "store/store.h"

namespace penstock {

// Up to `ahead_bytes` are in memory or under way at one time. Nobody is asked for the version: an
// answer of another one is kChanged. A requested stop ends what somebody waits for, with kStopped.
std::unique_ptr<Object> make_ahead_object(const Store& store, const std::string& key,
                                          const ObjectVersion& version, std::uint64_t ahead_bytes,
                                          std::stop_token stop);

// As the object is now; files are opened as they are.
Result<std::unique_ptr<Object>> open_ahead(const Store& store, const std::string& key,
                                           std::uint64_t ahead_bytes);

}  // namespace penstock
