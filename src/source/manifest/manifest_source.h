// A table of samples: paths and values, one row each.
#pragma once

#include <memory>

#include "source/source_formats.h"

namespace penstock {

bool is_manifest_name(std::string_view name);
Result<SourcePtr> open_manifest(OpenRequest request, const OpenOptions& options);

// Columns of text whose cells name images or .npy files are those; others are values.
Result<SourcePtr> open_manifest(std::shared_ptr<const Store> store, const std::string& uri,
                                const std::string& path, const std::string& root, const OpenOptions& options);

}  // namespace penstock
