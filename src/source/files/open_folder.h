// Opens a folder: of shards, of images or of .npy files.
#pragma once

#include "source/source_formats.h"

namespace penstock {

struct FolderShards {
  const SourceFormat* format = nullptr;
  std::vector<std::string> paths;  // empty: the folder is not a set of shards
};

// The shards in a folder. Where `told` is nullptr, the folder may hold no images, arrays or folders beside the shards, and
// the first shard decides the format; otherwise shards of that format are returned whatever else is there.
Result<FolderShards> find_shards(const Store& store, const std::string& uri, const SourceFormat* told);

// `told` is the format that options.kind names, or nullptr.
Result<SourcePtr> open_folder(std::shared_ptr<const Store> store, const std::string& uri, const SourceFormat* told,
                              const OpenOptions& options);

}  // namespace penstock
