// From a list of shards to their index: kept from an earlier run where it still fits, else made by
// scanning all shards in parallel.
#pragma once

#include <functional>

#include "penstock/source.h"
#include "source/records/forward_reader.h"
#include "source/index/record_index.h"
#include "source/source_formats.h"

namespace penstock {

struct ShardSet {
  std::string uri;                 // as the user gave it
  std::string identity;            // what the kept index is found by: the uri, absolute
  std::string kind;                // "tar", "tfrecord"
  std::vector<std::string> paths;  // absolute, in order
};

// The shards that a user asked to open.
ShardSet shard_set(const OpenRequest& request, std::string kind);

struct OpenedIndex {
  RecordIndex index;
  std::string saved_index_path;  // "": not kept
  bool was_kept = false;
};

// Fills `out` with what the shard holds; thread-safe. What stands in `out` when it fails was whole.
using ScanShard = std::function<Status(ForwardReader&, const std::string& path, ShardContents& out)>;

// A shard that has become shorter but otherwise is what an earlier index knew has lost its tail: an
// error, not a new index.
Result<OpenedIndex> open_shard_index(const Store& store, const ShardSet& set, const OpenOptions& options,
                                     const ScanShard& scan);

}  // namespace penstock
