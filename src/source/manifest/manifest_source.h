// A table of samples as a source: each row has the paths and values of one sample.
#pragma once

#include <memory>

#include "source/source_formats.h"

namespace penstock {

bool is_manifest_name(std::string_view name);
Result<SourcePtr> open_manifest(OpenRequest request, const OpenOptions& options);

// Columns of text whose cells name images or .npy files become files; all other columns become values.
Result<SourcePtr> open_manifest(std::shared_ptr<const Store> store, const std::string& uri,
                                const std::string& path, const std::string& root, const OpenOptions& options);

}  // namespace penstock
