#include "source/zarr/chunks/zarr_chunks.h"

namespace penstock {

ZarrChunks::ZarrChunks(ZarrArrayParts parts, ChunkKeys keys)
    : ZarrChunkedArray(std::move(parts)),
      keys_(keys) {}

Where ZarrChunks::stored_at(std::uint64_t chunk) const {
  return {key_of(chunk), -1, -1, -1};
}

std::string ZarrChunks::key_of(std::uint64_t chunk) const { return uri() + "/" + keys_.key(grid_position(chunk)); }

// Compressed arrays usually have at most half of their decoded size.
std::uint64_t ZarrChunks::likely_encoded_bytes() const {
  const std::uint64_t decoded = chain().decoded_bytes();
  return chain().max_encoded_bytes() > decoded ? decoded / 2 : decoded;
}

Result<ChunkLocation> ZarrChunks::location(std::uint64_t chunk) const {
  PENSTOCK_CHECK(check_number(chunk));
  ObjectRead read;
  read.key = key_of(chunk);
  read.max_bytes = chain().max_encoded_bytes();
  read.likely_bytes = likely_encoded_bytes();
  return ChunkLocation{std::move(read), false};
}

}  // namespace penstock
