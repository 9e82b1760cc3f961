// How the objects of an array are named: one for each chunk (or shard), by its place in the grid.
#pragma once

#include <string>

#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

struct ChunkKeys {
  bool has_prefix = false;  // "c/1/2" (v3 default), not "1.2" (v2)
  char separator = '.';

  // Below the array's uri.
  std::string key(const Shape& position) const;
};

Result<ChunkKeys> read_v2_chunk_keys(const Json& zarray, const std::string& uri);
Result<ChunkKeys> read_v3_chunk_keys(const Json* chunk_key_encoding, const std::string& uri);

}  // namespace penstock
