// The index of a Zarr shard: the location of each of its chunks in the object.
//
// A stored index is not trusted. Parsing checks that chunks lie within their shard, do not overlap the index and
// share no bytes. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "penstock/array.h"
#include "penstock/result.h"
#include "store/store.h"

namespace penstock {

struct ShardIndexFormat {
  Shape chunks_each_way;  // in the axis order of the index
  bool at_start = false;
  bool big_endian = false;
  bool has_checksum = false;
  // The limits of the stored size of a chunk.
  std::uint64_t least_chunk_bytes = 0;
  std::uint64_t max_chunk_bytes = 0;

  std::uint64_t chunks() const { return element_count(chunks_each_way); }
  std::uint64_t bytes() const { return 16 * chunks() + (has_checksum ? 4 : 0); }
};

// A range of bytes of an object: a chunk, or a nested shard.
struct ShardExtent {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class ShardIndex {
 public:
  // `bytes` are the stored index; `shard` is the location of the shard in the object `uri`.
  static Result<ShardIndex> parse(ConstBytes bytes, const ShardIndexFormat& format, const ShardExtent& shard,
                                  const std::string& uri);

  // The location in the object; nullopt: there is no such chunk.
  std::optional<ShardExtent> find(std::uint64_t chunk) const;
  std::uint64_t chunks() const { return extents_.size(); }
  std::size_t size_bytes() const { return extents_.capacity() * sizeof(ShardExtent); }

 private:
  std::vector<ShardExtent> extents_;
};

// The location of the index within a shard whose own location is known.
Result<ByteRange> index_range(const ShardIndexFormat& format, const ShardExtent& shard,
                              const std::string& uri);

}  // namespace penstock
