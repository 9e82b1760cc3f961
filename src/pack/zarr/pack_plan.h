// Decides the arrays of a hierarchy from the source and the options: which fields, their chunks and their shards.
//
// Fields that are read together form a group: those that share chunked arrays of the source, and those that are made
// together as samples. The arrays of a group have shards of the same samples.
#pragma once

#include <vector>

#include "base/memory/ledger.h"
#include "pack/zarr/packed_array.h"
#include "pack/zarr/zarr_pack.h"

namespace penstock {

struct FieldGroup {
  std::vector<std::size_t> arrays;         // positions in PackPlan::arrays
  std::vector<std::size_t> source_fields;  // of chunked arrays; empty: samples are made
  std::int64_t slab_samples = 1;           // whole chunks of all arrays
  std::int64_t shard_samples = 1;
  std::uint64_t sample_bytes = 0;
  std::uint64_t shards = 0;

  bool is_chunked() const { return !source_fields.empty(); }
};

struct PackPlan {
  std::vector<PackedArray> arrays;
  std::vector<FieldGroup> groups;
};

// Reads a sample if only that tells the shape of a field.
Result<PackPlan> plan_pack(const SourcePtr& source, const ZarrPackOptions& options, Ledger& ledger);

// The options of a loader that makes these fields as they are packed.
LoaderOptions loader_options_for(const ZarrPackOptions& options, std::vector<std::string> fields);

}  // namespace penstock
