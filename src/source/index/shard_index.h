// Makes the index of a list of shards: takes the indexes that lie beside the shards, or loads the saved index of an
// earlier run if it is still valid, and otherwise scans all shards in parallel.
#pragma once

#include <functional>
#include <memory>

#include "penstock/source.h"
#include "source/records/forward_reader.h"
#include "source/index/record_index.h"
#include "source/packed/pack_description.h"
#include "source/source_formats.h"

namespace penstock {

struct ShardSet {
  std::string uri;                 // as the user gave it
  std::string identity;  // names the saved index: the absolute uri
  std::string kind;                // "tar", "tfrecord"
  std::vector<std::string> paths;  // absolute, in order
  std::string description = {};    // as in OpenRequest
  // What an index of the data set says about each shard; empty: there is none. A shard of another size is damaged. The
  // scan reads about the first table_bytes of a shard, and nothing else of it is read.
  struct Declared {
    std::uint64_t size_bytes = 0, table_bytes = 0;
  };
  std::vector<Declared> declared = {};
};

// The shards that a user asked to open.
ShardSet shard_set(const OpenRequest& request, std::string kind);

// What the indexes beside the shards of one packed data set say about its fields.
struct PackedShards {
  PackDescription description;
  // One per name in RecordIndex::field_names(): PortableIndex::MemberName::field.
  std::vector<std::uint32_t> field_of_name;
};

struct OpenedIndex {
  RecordIndex index;
  std::shared_ptr<const PackedShards> packed;  // nullptr: the shards were not packed together
  std::string saved_index_path;  // "": the index is not saved
  bool was_saved = false;
};

// Fills `out` with the contents of one shard. Must be thread-safe. If it fails, what is in `out` are complete
// samples from before the damage.
using ScanShard = std::function<Status(ForwardReader&, const std::string& path, ShardContents& out)>;

// Fails with kTruncated if a shard has become shorter but otherwise equals the one that an earlier index
// describes: its tail was lost, so it is not indexed again.
Result<OpenedIndex> open_shard_index(const Store& store, const ShardSet& set, const OpenOptions& options,
                                     const ScanShard& scan);

}  // namespace penstock
