// Reads objects of slow stores (those with reads_ahead() > 0) forward: the next bytes are read before they are
// requested, over several connections. `store` must outlive the object. An object is used by one thread.
#pragma once

#include <stop_token>

#include "store/store.h"

namespace penstock {

// At most `ahead_bytes` are in memory or in flight. The version is not queried: reading fails with kChanged if the
// store has another one. Reading fails with kStopped once a stop is requested.
std::unique_ptr<Object> make_ahead_object(const Store& store, const std::string& key,
                                          const ObjectVersion& version, std::uint64_t ahead_bytes,
                                          std::stop_token stop);

// The same for the current version of the object. Local files are opened without reading ahead.
Result<std::unique_ptr<Object>> open_ahead(const Store& store, const std::string& key,
                                           std::uint64_t ahead_bytes);

}  // namespace penstock
