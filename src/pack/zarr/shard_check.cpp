#include "pack/zarr/shard_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/memory/memory_block.h"
#include "penstock/interruption.h"
#include "source/zarr/chunks/zarr_shard_index.h"

namespace penstock {
namespace {

constexpr std::uint64_t kChecksumBytes = 4;

Status check_stored_chunk(Object& object, const ShardExtent& chunk, MutableBytes buffer, const std::string& key) {
  const Where where{key, static_cast<std::int64_t>(chunk.offset), static_cast<std::int64_t>(chunk.length), -1};
  std::uint32_t checksum = 0;
  std::uint64_t left = chunk.length - kChecksumBytes, offset = chunk.offset;
  while (left > 0) {
    PENSTOCK_CHECK(check_interruption(key));
    const MutableBytes piece = buffer.first(std::min<std::uint64_t>(left, buffer.size()));
    PENSTOCK_CHECK(object.read_at(offset, piece));
    checksum = crc32c(piece, checksum);
    offset += piece.size();
    left -= piece.size();
  }
  std::uint32_t stored = 0;
  PENSTOCK_CHECK(object.read_at(offset, buffer.first(kChecksumBytes)));
  std::memcpy(&stored, buffer.data(), kChecksumBytes);
  if (stored != checksum) return fail(ErrorCode::kCorrupt, "crc32c: wrong checksum of a chunk", where);
  return {};
}

}  // namespace

Result<std::uint64_t> check_shard(const Store& store, const std::string& key, const PackedArray& array,
                                  std::uint64_t shard, ShardDepth depth) {
  auto object = store.open(key);
  if (!object) return std::unexpected(std::move(object).error());
  const std::uint64_t size = (*object)->version().size;
  ShardIndexFormat format;
  format.chunks_each_way = array.chunks_of_shard();
  format.has_checksum = true;
  format.least_chunk_bytes = kChecksumBytes + 1;
  format.max_chunk_bytes = size;
  if (size < format.bytes())
    return fail(ErrorCode::kTruncated, fmt::format("a shard of {} bytes, its index has {}", size, format.bytes()),
                {key, 0, static_cast<std::int64_t>(size), -1});
  std::vector<std::byte> bytes(format.bytes());
  PENSTOCK_CHECK((*object)->read_at(size - bytes.size(), bytes));
  const auto index = ShardIndex::parse(bytes, format, {0, size}, key);
  if (!index) return std::unexpected(index.error());
  // The chunks follow one another from the beginning, and none lies beyond the samples of the array.
  const std::uint64_t slabs = (array.samples_of(shard) + static_cast<std::uint64_t>(array.chunk.front()) - 1) /
                              static_cast<std::uint64_t>(array.chunk.front());
  std::uint64_t end = 0;
  for (std::uint64_t chunk = 0; chunk < index->chunks(); ++chunk) {
    const auto extent = index->find(chunk);
    if (!extent) continue;
    if (extent->offset != end || chunk >= slabs * array.chunks_of_slab())
      return fail(ErrorCode::kCorrupt, fmt::format("not the shard that belongs here: chunk {} at {}", chunk, extent->offset),
                  {key, -1, -1, -1});
    end += extent->length;
  }
  if (end + format.bytes() != size)
    return fail(ErrorCode::kCorrupt, "there are bytes between the chunks and the index",
                {key, static_cast<std::int64_t>(end), -1, -1});
  if (depth == ShardDepth::kIndex) return size;
  const MemoryBlock buffer = MemoryBlock::allocate(kShardCheckBytes);
  if (buffer.data() == nullptr) return fail(ErrorCode::kNoMemory, "no memory to check a shard", {key, -1, -1, -1});
  for (std::uint64_t chunk = 0; chunk < index->chunks(); ++chunk)
    if (const auto extent = index->find(chunk))
      PENSTOCK_CHECK(check_stored_chunk(**object, *extent, {buffer.data(), buffer.size()}, key));
  return size;
}

}  // namespace penstock
