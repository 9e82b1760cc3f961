// The codecs that Zarr's metadata list, as ours.
#pragma once

#include <memory>
#include <vector>

#include "decode/codec/codec_chain.h"
#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

struct ZarrSharding;

struct ZarrCodecs {
  std::vector<Codec> codecs;  // before a sharding codec: only transpositions
  std::shared_ptr<const ZarrSharding> sharding;
};

// sharding_indexed: a chunk is a shard, which holds smaller chunks and an index of them.
struct ZarrSharding {
  Shape chunk_shape;  // of the chunks within, after the transpositions before
  ZarrCodecs inner;
  bool index_at_start = false;
  bool index_big_endian = false;
  bool index_has_checksum = false;
};

// `compressor`, `filters` and `order` of .zarray.
Result<ZarrCodecs> read_v2_codecs(const Json& zarray, const StoredType& type, std::size_t rank,
                                  const std::string& uri);
// `codecs` of zarr.json.
Result<ZarrCodecs> read_v3_codecs(const Json* codecs, DType dtype, std::size_t rank, const std::string& uri);

}  // namespace penstock
