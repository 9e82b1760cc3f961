// Tar shards by the WebDataset convention: files whose names agree up to the first dot are one sample.
#pragma once

#include "source/index/shard_index.h"

namespace penstock {

Result<SourcePtr> open_tar(std::shared_ptr<const Store> store, const ShardSet& shards,
                           const OpenOptions& options);

// What a scan finds in one archive (also what fuzzing calls).
Status scan_tar_shard(ForwardReader& reader, const std::string& path, ShardContents& out);

}  // namespace penstock
