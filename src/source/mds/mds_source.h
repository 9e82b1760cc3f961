// Data sets of MosaicML Streaming (MDS, version 2), read in place: a folder with an index.json and shards.
#pragma once

#include "source/source_formats.h"

namespace penstock {

bool is_mds_index_name(std::string_view name);
// Whether the folder has an index of Streaming.
Result<bool> is_mds(const Store& store, const std::string& path);
// The request names the folder or its index.
Result<SourcePtr> open_mds(OpenRequest request, const OpenOptions& options);

}  // namespace penstock
