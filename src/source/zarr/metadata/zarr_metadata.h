// The checked metadata of one array: everything that is known without reading a chunk.
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
  Shape chunk_shape;  // of the contents of an object: a chunk or a shard
  ChunkKeys keys;
  ZarrCodecs codecs;
  FillValue fill;
  std::optional<double> fill_number;  // v2 only: the fill value, if it is a single number
  std::vector<std::string> dimensions;
  std::optional<std::string> time_unit;
  bool is_duration = false;
  Json attributes = Json::object();
};

// `uri` is that of the metadata object, for messages.
Result<ZarrArrayMetadata> read_v2_array(const Json& zarray, const Json& zattrs, const std::string& uri);
Result<ZarrArrayMetadata> read_v3_array(const Json& zarr_json, const std::string& uri);

// Returns "array" or "group". Fails if zarr.json is neither, or has unknown members that must be understood.
Result<std::string> read_v3_node_type(const Json& zarr_json, const std::string& uri);

// The size of a decoded chunk. Fails if it exceeds the limit.
Result<std::uint64_t> checked_chunk_bytes(const Shape& chunk, DType dtype, const std::string& uri);

}  // namespace penstock
