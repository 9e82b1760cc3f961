// One big .npy file: sample i is entry i of the first axis.
#pragma once

#include "penstock/source.h"
#include "store/store.h"

namespace penstock {

// `uri` is what the user wrote, `path` where it is.
Result<SourcePtr> make_npy_source(std::shared_ptr<const Store> store, const std::string& uri,
                                  const std::string& path);

}  // namespace penstock
