// A Zarr array whose chunks stand in shards, maybe in shards of shards: objects that hold many chunks and
// an index of them. The chunks here are the innermost ones.
//
// Indexes are read when they are first needed, and some of them kept. Two threads that need the same
// one may both read it. A chunk is read with the version of the index that told where it is, so that a
// shard that was written anew is an error (kChanged), never a wrong chunk. Thread-safe.
#pragma once

#include <vector>

#include "source/zarr/chunks/chunk_keys.h"
#include "source/zarr/chunks/shard_index_cache.h"
#include "source/zarr/chunks/zarr_chunked_array.h"

namespace penstock {

// How shards of one depth are divided into the next.
struct ShardLevel {
  Shape shard_shape;      // in elements, in the order of the array's axes
  Shape part_shape;       // of what the index lists: chunks, or shards of the next level
  std::vector<int> axes;  // of the array, in the order in which the index counts them
  ShardIndexFormat format;
};

class ZarrShards final : public ZarrChunkedArray {
 public:
  // At least one level. Each divides the one before, the last into chunks.
  ZarrShards(ZarrArrayParts parts, ChunkKeys keys, std::vector<ShardLevel> levels);

  std::optional<ObjectRead> index_read(std::uint64_t chunk) const override;
  Status add_index(std::uint64_t chunk, Result<ObjectBytes> answer) const override;
  Result<ChunkLocation> location(std::uint64_t chunk) const override;
  void discard_index(std::uint64_t chunk) const override;

 private:
  // How far the indexes that are known lead to a chunk.
  struct Path {
    std::string key;                    // of the object
    Shape first_element;                // of the chunk, in the array
    std::size_t level = 0;              // whose index is wanted next; all of them: none
    bool is_missing = false;            // then none either
    std::optional<ShardExtent> extent;  // of the shard of that level (not of the first), or of the chunk
    ObjectVersion version;              // that all this is about
  };

  Where stored_at(std::uint64_t chunk) const override;
  bool is_complete(const Path& path) const { return path.is_missing || path.level == levels_.size(); }
  Path follow(std::uint64_t chunk) const;
  void advance(Path& path, const KnownShard& shard) const;
  Result<ObjectRead> next_read(const Path& path) const;
  bool belongs(const ObjectBytes& answer, const Path& path) const;
  // What was read for the next step: kept, and followed.
  Status learn(Path& path, Result<ObjectBytes> answer) const;
  ShardId shard_id(const Path& path, std::size_t level) const;

  const ChunkKeys keys_;
  const std::vector<ShardLevel> levels_;
  mutable ShardIndexCache cache_;
};

}  // namespace penstock
