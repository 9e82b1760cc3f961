// Opens a folder of shards, of images or of .npy files.
#pragma once

#include "source/source_formats.h"

namespace penstock {

struct FolderShards {
  const SourceFormat* format = nullptr;
  std::vector<std::string> paths;  // empty: the folder is not a set of shards
};

// The shards in a folder. If `requested` is nullptr, the folder may hold no images, arrays or folders beside the
// shards, and the first shard decides the format. Otherwise all shards of that format are returned, whatever else
// the folder holds.
Result<FolderShards> find_shards(const Store& store, const std::string& folder, const SourceFormat* requested);

// The folder is the one path of the request. `requested` is the format that options.kind names; nullptr: the user named
// none.
Result<SourcePtr> open_folder(OpenRequest request, const SourceFormat* requested, const OpenOptions& options);

}  // namespace penstock
