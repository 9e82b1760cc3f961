#include "source/zarr/chunks/zarr_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "base/checked_math.h"
#include "source/zarr/chunks/zarr_chunks.h"
#include "source/zarr/chunks/zarr_shards.h"

namespace penstock {
namespace {

// The index of so many chunks has 16 MiB, which is half of the cache for indexes of an array.
constexpr std::uint64_t kMaxChunksInShard = std::uint64_t{1} << 20;

// Follows nested shards down to the chunks.
class ShardDivision {
 public:
  ShardDivision(const Shape& shard_shape, const std::string& uri)
      : uri_(uri),
        part_shape_(shard_shape),
        axes_(shard_shape.size()) {
    std::iota(axes_.begin(), axes_.end(), 0);
  }

  Status divide(const ZarrCodecs& codecs) {
    const ZarrCodecs* within = &codecs;
    for (; within->sharding; within = &within->sharding->inner) {
      transpose(within->codecs);
      PENSTOCK_CHECK(add_level(*within->sharding));
    }
    codecs_.insert(codecs_.end(), within->codecs.begin(), within->codecs.end());
    return {};
  }

  const Shape& chunk_shape() const { return part_shape_; }
  // The codecs of a chunk in the axis order of the array, including the transpositions of the shards around it.
  const std::vector<Codec>& codecs() const { return codecs_; }

  std::vector<ShardLevel> take_levels(const CodecChain& chain) {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      ShardIndexFormat& format = levels_[level].format;
      const bool last = level + 1 == levels_.size();
      const std::uint64_t least = chain.is_plain() ? chain.decoded_bytes() : 0;
      format.least_chunk_bytes = last ? least : levels_[level + 1].format.bytes();
      format.max_chunk_bytes = last ? chain.max_encoded_bytes() : UINT64_MAX;
    }
    return std::move(levels_);
  }

 private:
  void transpose(const std::vector<Codec>& codecs) {
    for (const Codec& codec : codecs) {
      const std::vector<int> before = axes_;
      const auto& order = std::get<TransposeCodec>(codec).order;
      for (std::size_t i = 0; i < order.size(); ++i) axes_[i] = before[static_cast<std::size_t>(order[i])];
      codecs_.push_back(codec);
    }
  }

  Status add_level(const ZarrSharding& sharding) {
    ShardLevel level;
    level.shard_shape = part_shape_;
    level.axes = axes_;
    std::optional<std::uint64_t> chunks = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const auto axis = static_cast<std::size_t>(axes_[i]);
      const std::int64_t shard = level.shard_shape[axis], chunk = sharding.chunk_shape[i];
      if (shard % chunk != 0)
        return bad_metadata(
            ErrorCode::kCorrupt,
            fmt::format("codec sharding_indexed: chunks of [{}] do not divide shards of [{}]",
                        fmt::join(sharding.chunk_shape, ", "), fmt::join(level.shard_shape, ", ")),
            uri_);
      part_shape_[axis] = chunk;
      level.format.chunks_each_way.push_back(shard / chunk);
      chunks = checked_multiply(*chunks, static_cast<std::uint64_t>(shard / chunk));
      if (!chunks || *chunks > kMaxChunksInShard)
        return bad_metadata(
            ErrorCode::kTooLarge,
            fmt::format("codec sharding_indexed: more than {} chunks in a shard", kMaxChunksInShard), uri_);
    }
    level.part_shape = part_shape_;
    level.format.at_start = sharding.index_at_start;
    level.format.big_endian = sharding.index_big_endian;
    level.format.has_checksum = sharding.index_has_checksum;
    levels_.push_back(std::move(level));
    return {};
  }

  const std::string& uri_;
  Shape part_shape_;
  std::vector<int> axes_;
  std::vector<Codec> codecs_;
  std::vector<ShardLevel> levels_;
};

}  // namespace

Result<ChunkedArrayPtr> make_zarr_array(std::shared_ptr<const Store> store, const std::string& uri,
                                        ZarrArrayMetadata metadata, MissingChunk missing) {
  ShardDivision division(metadata.chunk_shape, uri);
  PENSTOCK_CHECK(division.divide(metadata.codecs));
  const Shape& chunk_shape = division.chunk_shape();
  PENSTOCK_CHECK(checked_chunk_bytes(chunk_shape, metadata.spec.dtype, uri));
  auto chain = CodecChain::make(division.codecs(), {metadata.spec.dtype, chunk_shape});
  if (!chain) {
    Error error = std::move(chain).error();
    error.where.uri = uri;
    if (error.code == ErrorCode::kInvalidArgument)
      error.code = ErrorCode::kCorrupt;  // the size came from the file
    return std::unexpected(std::move(error));
  }
  auto levels = division.take_levels(*chain);
  ZarrArrayParts parts{std::move(store),  uri,           std::move(metadata.spec), chunk_shape,
                       *std::move(chain), metadata.fill, missing};
  if (levels.empty()) return std::make_shared<const ZarrChunks>(std::move(parts), metadata.keys);
  return std::make_shared<const ZarrShards>(std::move(parts), metadata.keys, std::move(levels));
}

}  // namespace penstock
