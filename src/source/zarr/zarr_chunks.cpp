#include "source/zarr/zarr_chunks.h"

namespace penstock {

ZarrChunks::ZarrChunks(ZarrArrayParts parts, ChunkKeys keys)
    : ZarrChunkedArray(std::move(parts)),
      keys_(keys) {}

Where ZarrChunks::stored_at(std::uint64_t chunk) const {
  return {uri() + "/" + keys_.key(place_in_grid(chunk)), -1, -1, -1};
}

Result<ChunkPlace> ZarrChunks::place(std::uint64_t chunk) const {
  PENSTOCK_CHECK(check_number(chunk));
  return ChunkPlace{{stored_at(chunk).uri, {}, chain().most_encoded_bytes(), {}}, false};
}

}  // namespace penstock
