// Converts the codecs in Zarr metadata to those of the decoder.
#pragma once

#include <memory>
#include <vector>

#include "decode/codec/codec_chain.h"
#include "source/zarr/metadata/zarr_json.h"

namespace penstock {

struct ZarrSharding;

struct ZarrCodecs {
  std::vector<Codec> codecs;  // before a sharding codec: transpositions only
  std::shared_ptr<const ZarrSharding> sharding;
};

// The sharding_indexed codec: a chunk is a shard, which contains smaller chunks and an index of them.
struct ZarrSharding {
  Shape chunk_shape;  // of the inner chunks, after the transpositions that come before
  ZarrCodecs inner;
  bool index_at_start = false;
  bool index_big_endian = false;
  bool index_has_checksum = false;
};

// Parses `compressor`, `filters` and `order` of .zarray.
Result<ZarrCodecs> read_v2_codecs(const Json& zarray, const StoredType& type, std::size_t rank,
                                  const std::string& uri);
// Parses `codecs` of zarr.json.
Result<ZarrCodecs> read_v3_codecs(const Json* codecs, DType dtype, std::size_t rank, const std::string& uri);

}  // namespace penstock
