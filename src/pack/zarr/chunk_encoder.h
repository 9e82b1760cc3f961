// Encodes the chunks of an array: little-endian elements, compressed by zstd, followed by their CRC32C.
//
// zstd's own checksum is off, because crc32c covers the compressed bytes. The same elements and level give the same
// bytes, whichever thread encodes them.
//
// Belongs to one thread. The array is borrowed. Its memory is reserved by the caller: memory_bytes().
#pragma once

#include <memory>

#include "base/memory/memory_block.h"
#include "pack/zarr/packed_array.h"
#include "penstock/result.h"

namespace penstock {

// Consecutive samples of one array in memory, in C order without gaps.
struct ArrayBlock {
  const std::byte* memory = nullptr;
  std::uint64_t first_sample = 0;  // in the shard
  std::uint64_t samples = 0;
};

class ChunkEncoder {
 public:
  static Result<std::unique_ptr<ChunkEncoder>> make(const PackedArray& array);
  ~ChunkEncoder();
  ChunkEncoder(const ChunkEncoder&) = delete;

  static std::uint64_t memory_bytes(const PackedArray& array);

  // The encoded bytes of a chunk of a shard; empty if all its elements are the fill value, so that it need not be
  // stored. `block` has all samples of the chunk that the array has. The result is valid until the next call.
  Result<ConstBytes> encode(std::uint64_t chunk, const ArrayBlock& block);

 private:
  struct Compressor;
  explicit ChunkEncoder(const PackedArray& array);
  ConstBytes elements_of(std::uint64_t chunk, const ArrayBlock& block);
  bool is_fill(ConstBytes elements) const;

  const PackedArray& array_;
  std::unique_ptr<Compressor> compressor_;
  MemoryBlock elements_, encoded_;
};

}  // namespace penstock
