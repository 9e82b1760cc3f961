// A large .npy file as a source: entry i of the first axis is sample i.
#pragma once

#include "penstock/source.h"
#include "store/store.h"

namespace penstock {

// `uri` is what the user wrote, and `path` is the key of the file in the store.
Result<SourcePtr> make_npy_source(std::shared_ptr<const Store> store, const std::string& uri,
                                  const std::string& path);

}  // namespace penstock
