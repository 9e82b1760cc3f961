// A Zarr array in which each chunk is an object of its own. Immutable and thread-safe.
#pragma once

#include "source/zarr/chunks/chunk_keys.h"
#include "source/zarr/chunks/zarr_chunked_array.h"

namespace penstock {

class ZarrChunks final : public ZarrChunkedArray {
 public:
  ZarrChunks(ZarrArrayParts parts, ChunkKeys keys);

  Result<ChunkLocation> location(std::uint64_t chunk) const override;

 private:
  Where stored_at(std::uint64_t chunk) const override;
  std::string key_of(std::uint64_t chunk) const;
  std::uint64_t likely_encoded_bytes() const;

  const ChunkKeys keys_;
};

}  // namespace penstock
