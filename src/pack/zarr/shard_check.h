// Checks a shard that an earlier run has written: its size, its index, and the checksum of every chunk.
#pragma once

#include <string>

#include "pack/zarr/packed_array.h"
#include "store/store.h"

namespace penstock {

enum class ShardDepth : std::uint8_t {
  kIndex,   // size and index
  kChunks,  // the checksums of all chunks as well
};

// Returns the size of the shard. Fails with kNotFound if there is none, with kTruncated or kCorrupt if it is damaged or
// the shard of another array, and with any other error if the store cannot tell. Memory: kShardCheckBytes and the index.
Result<std::uint64_t> check_shard(const Store& store, const std::string& key, const PackedArray& array,
                                  std::uint64_t shard, ShardDepth depth);

constexpr std::uint64_t kShardCheckBytes = std::uint64_t{1} << 20;

}  // namespace penstock
