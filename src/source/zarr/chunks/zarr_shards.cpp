#include "source/zarr/chunks/zarr_shards.h"

#include <fmt/format.h>

namespace penstock {

ZarrShards::ZarrShards(ZarrArrayParts parts, ChunkKeys keys, std::vector<ShardLevel> levels)
    : ZarrChunkedArray(std::move(parts)),
      keys_(keys),
      levels_(std::move(levels)) {}

ShardId ZarrShards::shard_id(const Path& path, std::size_t level) const {
  const Shape& shard = levels_[level].shard_shape;
  ShardId id{level, 0};
  for (std::size_t axis = 0; axis < shard.size(); ++axis) {
    const std::int64_t shards = (spec().shape[axis] + shard[axis] - 1) / shard[axis];
    id.number = id.number * static_cast<std::uint64_t>(shards) +
                static_cast<std::uint64_t>(path.first_element[axis] / shard[axis]);
  }
  return id;
}

// Continues from the deepest known shard by one level.
ZarrShards::Path ZarrShards::follow(std::uint64_t chunk) const {
  Path path;
  path.first_element = grid_position(chunk);
  Shape shard_position = path.first_element;
  for (std::size_t axis = 0; axis < shard_position.size(); ++axis) {
    path.first_element[axis] *= chunk_shape()[axis];
    shard_position[axis] = path.first_element[axis] / levels_[0].shard_shape[axis];
  }
  path.key = uri() + "/" + keys_.key(shard_position);
  for (std::size_t level = levels_.size(); level-- > 0;) {
    const KnownShardPtr shard = cache_.find(shard_id(path, level));
    if (!shard) continue;
    path.level = level;
    advance(path, *shard);
    break;
  }
  return path;
}

void ZarrShards::advance(Path& path, const KnownShard& shard) const {
  path.version = shard.version;
  path.extent.reset();
  if (shard.index) {
    const ShardLevel& level = levels_[path.level];
    std::uint64_t entry = 0;
    for (const int wanted : level.axes) {
      const auto axis = static_cast<std::size_t>(wanted);
      const std::int64_t within = path.first_element[axis] % level.shard_shape[axis];
      entry = entry * static_cast<std::uint64_t>(level.shard_shape[axis] / level.part_shape[axis]) +
              static_cast<std::uint64_t>(within / level.part_shape[axis]);
    }
    path.extent = shard.index->find(entry);
  }
  path.is_missing = !path.extent;
  ++path.level;
}

Result<ObjectRead> ZarrShards::next_read(const Path& path) const {
  const ShardIndexFormat& format = levels_[path.level].format;
  if (path.level == 0) {
    const ByteRange range{0, format.bytes(), !format.at_start};
    return ObjectRead{path.key, range, format.bytes(), {}};
  }
  const auto range = index_range(format, *path.extent, path.key);
  if (!range) return std::unexpected(range.error());
  return ObjectRead{path.key, *range, format.bytes(), path.version};
}

// Another thread may have read the same index in the meantime; then the answer is no longer needed.
bool ZarrShards::belongs(const ObjectBytes& answer, const Path& path) const {
  const ShardIndexFormat& format = levels_[path.level].format;
  if (path.level == 0) {
    const std::uint64_t size = answer.version.size;
    return answer.offset == (format.at_start || size < format.bytes() ? 0 : size - format.bytes());
  }
  const auto range = index_range(format, *path.extent, path.key);
  return range && answer.offset == range->offset && answer.version == path.version;
}

Status ZarrShards::learn(Path& path, Result<ObjectBytes> answer) const {
  const ShardId id = shard_id(path, path.level);
  KnownShard shard;
  if (answer) {
    const ShardExtent extent =
        path.level == 0 ? ShardExtent{0, answer->version.size} : path.extent.value_or(ShardExtent{});
    auto index = ShardIndex::parse(answer->bytes, levels_[path.level].format, extent, path.key);
    if (!index) return std::unexpected(std::move(index).error());
    shard = {*std::move(index), answer->version};
  } else if (answer.error().code != ErrorCode::kNotFound) {
    Error error = std::move(answer).error();
    if (error.where.uri.empty()) error.where.uri = path.key;
    return std::unexpected(std::move(error));
  } else if (path.level > 0) {
    return fail(ErrorCode::kChanged, "the shard is gone since its index was read", {path.key, -1, -1, -1});
  }
  const auto known = std::make_shared<const KnownShard>(std::move(shard));
  cache_.insert(id, known);
  advance(path, *known);
  return {};
}

std::optional<ObjectRead> ZarrShards::index_read(std::uint64_t chunk) const {
  if (!check_number(chunk)) return std::nullopt;
  const Path path = follow(chunk);
  if (is_complete(path)) return std::nullopt;
  auto read = next_read(path);
  if (!read) return std::nullopt;  // location() reports the error
  return *std::move(read);
}

Status ZarrShards::add_index(std::uint64_t chunk, Result<ObjectBytes> answer) const {
  PENSTOCK_CHECK(check_number(chunk));
  Path path = follow(chunk);
  if (is_complete(path) || (answer && !belongs(*answer, path))) return {};
  return learn(path, std::move(answer));
}

Result<ChunkLocation> ZarrShards::location(std::uint64_t chunk) const {
  PENSTOCK_CHECK(check_number(chunk));
  Path path = follow(chunk);
  std::vector<std::byte> memory;
  const auto allocate = [&](std::size_t bytes) -> Result<MutableBytes> {
    memory.resize(bytes);
    return MutableBytes(memory);
  };
  while (!is_complete(path)) {
    const auto read = next_read(path);
    if (!read) return std::unexpected(read.error());
    PENSTOCK_CHECK(learn(path, store().read(*read, allocate)));
  }
  ChunkLocation found{{std::move(path.key), {}, chain().max_encoded_bytes(), {}}, path.is_missing};
  if (path.is_missing) return found;
  found.read.range = {path.extent->offset, path.extent->length, false};
  found.read.version = path.version;
  return found;
}

void ZarrShards::discard_index(std::uint64_t chunk) const {
  if (!check_number(chunk)) return;
  const Path path = follow(chunk);
  for (std::size_t level = 0; level < levels_.size(); ++level) cache_.erase(shard_id(path, level));
}

Where ZarrShards::stored_at(std::uint64_t chunk) const {
  const Path path = follow(chunk);
  Where where{path.key, -1, -1, -1};
  if (is_complete(path) && path.extent) {
    where.offset = static_cast<std::int64_t>(path.extent->offset);
    where.length = static_cast<std::int64_t>(path.extent->length);
  }
  return where;
}

}  // namespace penstock
