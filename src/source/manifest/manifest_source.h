// A table of samples: paths and values, one row each.
#pragma once

#include <memory>

#include "penstock/source.h"
#include "store/store.h"

namespace penstock {

// Columns of text whose cells name images or .npy files are those; others are values.
Result<SourcePtr> open_manifest(std::shared_ptr<const Store> store, const std::string& uri,
                                const std::string& path, const std::string& root, const OpenOptions& options);

}  // namespace penstock
