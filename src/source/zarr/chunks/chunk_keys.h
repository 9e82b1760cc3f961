// The names of the objects of an array: one object per chunk (or shard), named after its position in the grid.
#pragma once

#include <string>

#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

struct ChunkKeys {
  bool has_prefix = false;  // "c/1/2" (v3 default), not "1.2" (v2)
  char separator = '.';

  // The key relative to the uri of the array.
  std::string key(const Shape& position) const;
};

Result<ChunkKeys> read_v2_chunk_keys(const Json& zarray, const std::string& uri);
Result<ChunkKeys> read_v3_chunk_keys(const Json* chunk_key_encoding, const std::string& uri);

}  // namespace penstock
