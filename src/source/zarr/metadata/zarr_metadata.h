// What the metadata of one array say, checked: everything that can be known without reading a chunk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source/zarr/chunks/chunk_keys.h"
#include "source/zarr/metadata/fill_value.h"
#include "source/zarr/metadata/zarr_codecs.h"

namespace penstock {

struct ZarrArrayMetadata {
  ArraySpec spec;     // bytes() fits 63 bits
  Shape chunk_shape;  // of what an object holds: a chunk, or a shard
  ChunkKeys keys;
  ZarrCodecs codecs;
  FillValue fill;
  std::optional<double> fill_number;  // v2: where it is given, and one number
  std::vector<std::string> dimensions;
  std::optional<std::string> time_unit;
  bool is_duration = false;
  Json attributes = Json::object();
};

// `uri` is that of the metadata, for messages.
Result<ZarrArrayMetadata> read_v2_array(const Json& zarray, const Json& zattrs, const std::string& uri);
Result<ZarrArrayMetadata> read_v3_array(const Json& zarr_json, const std::string& uri);

// "array" or "group"; fails where zarr.json is neither, or has members that must be understood and are not.
Result<std::string> read_v3_node_type(const Json& zarr_json, const std::string& uri);

// The size of a decoded chunk; fails where it is beyond the limit.
Result<std::uint64_t> checked_chunk_bytes(const Shape& chunk, DType dtype, const std::string& uri);

}  // namespace penstock
