// Image and .npy files that the user names one by one or by a pattern: each of them is one sample.
#pragma once

#include <string_view>

#include "source/source_formats.h"

namespace penstock {

bool is_image_name(std::string_view name);
bool is_npy_name(std::string_view name);

// Samples are in the order of the paths. Fails if some files are neither images nor .npy files, or if there are
// both.
Result<SourcePtr> open_file_list(std::shared_ptr<const Store> store, const std::string& uri, const LabelledFiles& files,
                                 const OpenOptions& options);

Result<SourcePtr> open_image_files(OpenRequest request, const OpenOptions& options);
// A .npy file that is named alone is an array of samples; in a list or a pattern, each file is one sample.
Result<SourcePtr> open_npy_files(OpenRequest request, const OpenOptions& options);

}  // namespace penstock
