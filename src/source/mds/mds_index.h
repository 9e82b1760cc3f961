// The index.json of an MDS data set (MosaicML Streaming, format version 2): its shards, their sizes and hashes, and the
// columns of their samples.
//
// The file is not trusted: names of shards may not lead out of the folder, and every number is checked. Values that are
// immutable after parsing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

constexpr std::string_view kMdsIndexName = "index.json";
// Parsed JSON takes many times its length, and a shard takes about 700 bytes of it.
constexpr std::uint64_t kMaxMdsIndexBytes = std::uint64_t{128} << 20;

struct MdsHash {
  std::string algorithm;  // "sha1", "xxh64", ...
  std::string digest;     // in hexadecimal digits, lower case
};

// A file as the index describes it.
struct MdsFile {
  std::string name;  // below the folder of the index; merged indexes have "part/shard.00000.mds"
  std::uint64_t size_bytes = 0;
  std::vector<MdsHash> hashes;
};

struct MdsColumn {
  std::string name, encoding;
  std::uint32_t size_bytes = 0;  // 0: each value has its own size
  bool operator==(const MdsColumn&) const = default;
};

struct MdsShard {
  MdsFile raw;
  std::optional<MdsFile> compressed;  // what is stored in place of the raw file
  std::uint64_t samples = 0;
  std::size_t layout = 0;  // position in MdsIndex::layouts

  const MdsFile& stored() const { return compressed ? *compressed : raw; }
};

struct MdsIndex {
  std::vector<MdsShard> shards;
  std::vector<std::vector<MdsColumn>> layouts;  // the columns that shards have; usually one for all of them
};

// Whether the text looks like the index of a data set of Streaming, in this or another version and format.
bool is_mds_index(ConstBytes text);

// Fails with kUnsupported for another version, for shards that are not MDS, and for compressions that are not read;
// with kNoMemory if the opening of this thread has no memory left for it. Errors name `uri`.
Result<MdsIndex> parse_mds_index(ConstBytes text, const std::string& uri);

}  // namespace penstock
