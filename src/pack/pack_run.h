// Prepares samples with a pool of threads and writes them in order into shards.
//
// Threads claim samples in order of the shards, so all of them work at the earliest shards, also where there is only one.
// Two more threads write: while one waits for the disk to have a finished shard, the other already writes the next.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pack/packed_fields.h"
#include "pack/formats/format_of_pack.h"
#include "pack/shard_output.h"

namespace penstock {

// Shards whose samples follow one another in `source`.
struct PackJob {
  SourcePtr source;  // only the samples that are packed now, in their order
  const PackedFields& fields;
  const FormatOfPack& format;
  const PackFolder& folder;
  std::string description;
  std::vector<ShardOutput::Place> shards;
  unsigned threads = 1;
  std::uint64_t memory_bytes = 0;
};

// Returns what the manifest says about each shard, in their order. `progress` is called now and then on the calling
// thread, and stops the run by returning false. On failure nothing of the unfinished shards is left.
Result<std::vector<PackManifest::Shard>> run_pack(const PackJob& job,
                                                  const std::function<bool(std::uint64_t samples, std::uint64_t bytes)>& progress);

}  // namespace penstock
