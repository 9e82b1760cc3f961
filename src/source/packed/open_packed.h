// Opens a data set that was packed, by its manifest: the folder of "penstock-pack.json", or that file itself, which also
// names the data set on servers that cannot list.
#pragma once

#include <string_view>

#include "source/packed/pack_manifest.h"
#include "source/source_formats.h"

namespace penstock {

bool is_pack_manifest_name(std::string_view name);
Result<bool> is_packed_folder(const Store& store, const std::string& path);

Result<SourcePtr> open_packed(OpenRequest request, const OpenOptions& options);

// The folder of a packed data set that the user named: the folder itself, or that of the manifest. Without a slash.
std::string folder_of_pack(std::string key);
Result<PackManifest> read_pack_manifest(const Store& store, const std::string& folder);

}  // namespace penstock
