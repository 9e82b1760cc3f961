// A Zarr array whose chunks are stored in shards, which may be nested: objects that hold many chunks and an index
// of them. The chunks of this array are the innermost ones.
//
// Indexes are read on first use and cached. Two threads that need the same index may both read it. A chunk is read
// with the object version of its index, so a shard that was rewritten is an error (kChanged) and never returns a
// wrong chunk. Thread-safe.
#pragma once

#include <vector>

#include "source/zarr/chunks/chunk_keys.h"
#include "source/zarr/chunks/shard_index_cache.h"
#include "source/zarr/chunks/zarr_chunked_array.h"

namespace penstock {

// The division of the shards of one depth into those of the next.
struct ShardLevel {
  Shape shard_shape;  // in elements, in the axis order of the array
  Shape part_shape;  // shape of the parts that the index lists: chunks, or shards of the next level
  std::vector<int> axes;  // axes of the array, in the order of the index
  ShardIndexFormat format;
};

class ZarrShards final : public ZarrChunkedArray {
 public:
  // There is at least one level. Each level divides the previous one, and the last one divides into chunks.
  ZarrShards(ZarrArrayParts parts, ChunkKeys keys, std::vector<ShardLevel> levels);

  std::optional<ObjectRead> index_read(std::uint64_t chunk) const override;
  Status add_index(std::uint64_t chunk, Result<ObjectBytes> answer) const override;
  Result<ChunkLocation> location(std::uint64_t chunk) const override;
  void discard_index(std::uint64_t chunk) const override;

 private:
  // The way to a chunk, as far as the known indexes lead.
  struct Path {
    std::string key;  // key of the object
    Shape first_element;  // first element of the chunk in the array
    std::size_t level = 0;  // the level whose index is needed next; levels_.size(): none
    bool is_missing = false;  // the chunk is known to be missing, so no index is needed
    std::optional<ShardExtent> extent;  // of the shard of that level (except the first), or of the chunk
    ObjectVersion version;  // the object version that all of this refers to
  };

  Where stored_at(std::uint64_t chunk) const override;
  bool is_complete(const Path& path) const { return path.is_missing || path.level == levels_.size(); }
  Path follow(std::uint64_t chunk) const;
  void advance(Path& path, const KnownShard& shard) const;
  Result<ObjectRead> next_read(const Path& path) const;
  bool belongs(const ObjectBytes& answer, const Path& path) const;
  // Caches the index that was read and continues the path with it.
  Status learn(Path& path, Result<ObjectBytes> answer) const;
  ShardId shard_id(const Path& path, std::size_t level) const;

  const ChunkKeys keys_;
  const std::vector<ShardLevel> levels_;
  mutable ShardIndexCache cache_;
};

}  // namespace penstock
