// Tar shards by the WebDataset convention: files whose names agree up to the first dot are one sample.
#pragma once

#include "source/index/shard_index.h"
#include "source/source_formats.h"

namespace penstock {

bool is_tar_name(std::string_view name);
Result<SourcePtr> open_tar(OpenRequest request, const OpenOptions& options);
Result<SourcePtr> open_tar(std::shared_ptr<const Store> store, const ShardSet& shards,
                           const OpenOptions& options);

// Finds the samples of one archive. Fuzzing calls this, too.
Status scan_tar_shard(ForwardReader& reader, const std::string& path, ShardContents& out);

}  // namespace penstock
