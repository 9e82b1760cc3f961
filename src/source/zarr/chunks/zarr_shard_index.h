// The index of a Zarr shard: where in the object each of its chunks stands.
//
// An index may be anything. What it says was checked once it is parsed: chunks lie within their shard,
// beside the index, and share no bytes.
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
  Shape chunks_each_way;  // in the order of axes in which the index counts
  bool at_start = false;
  bool big_endian = false;
  bool has_checksum = false;
  // What the stored bytes of a chunk can be.
  std::uint64_t least_chunk_bytes = 0;
  std::uint64_t max_chunk_bytes = 0;

  std::uint64_t chunks() const { return element_count(chunks_each_way); }
  std::uint64_t bytes() const { return 16 * chunks() + (has_checksum ? 4 : 0); }
};

// Bytes of an object: a chunk, or the shard that is a chunk of another.
struct ShardExtent {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class ShardIndex {
 public:
  // `bytes` are the stored index; `shard` is where the shard stands in the object `uri`.
  static Result<ShardIndex> parse(ConstBytes bytes, const ShardIndexFormat& format, const ShardExtent& shard,
                                  const std::string& uri);

  // In the object; nothing where there is no such chunk.
  std::optional<ShardExtent> find(std::uint64_t chunk) const;
  std::uint64_t chunks() const { return extents_.size(); }
  std::size_t size_bytes() const { return extents_.capacity() * sizeof(ShardExtent); }

 private:
  std::vector<ShardExtent> extents_;
};

// Where the index stands in a shard whose own place is known.
Result<ByteRange> index_range(const ShardIndexFormat& format, const ShardExtent& shard,
                              const std::string& uri);

}  // namespace penstock
