#include "source/zarr/chunks/zarr_shard_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/crc32c.h"

namespace penstock {
namespace {

constexpr std::uint64_t kNoChunk = UINT64_MAX;  // both numbers of an entry have this value if there is no chunk
constexpr std::uint64_t kEntryBytes = 16;

std::uint64_t index_offset(const ShardIndexFormat& format, const ShardExtent& shard) {
  return format.at_start ? shard.offset : shard.offset + shard.length - format.bytes();
}

std::string describe_entry(const ShardIndexFormat& format, std::uint64_t entry) {
  Shape position(format.chunks_each_way.size());
  std::uint64_t left = entry;
  for (std::size_t axis = position.size(); axis-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(format.chunks_each_way[axis]);
    position[axis] = static_cast<std::int64_t>(left % extent);
    left /= extent;
  }
  return fmt::format("shard index, chunk {} of the shard", fmt::join(position, "."));
}

// Checks entries against one another and against the extent of their shard.
class IndexCheck {
 public:
  IndexCheck(const ShardIndexFormat& format, const ShardExtent& shard, const std::string& uri)
      : format_(format),
        shard_(shard),
        uri_(uri),
        first_(format.at_start ? format.bytes() : 0),
        end_(format.at_start ? shard.length : shard.length - format.bytes()) {}

  // Converts the offset of an entry, which is relative to the shard, to an offset in the object.
  Result<ShardExtent> checked(std::uint64_t entry, std::uint64_t offset, std::uint64_t length) const {
    if (offset == kNoChunk && length == kNoChunk) return ShardExtent{kNoChunk, kNoChunk};
    const auto end = checked_add(offset, length);
    if (!end || offset < first_ || *end > end_)
      return bad(entry, fmt::format("{} bytes at {} are not within the shard's {} to {}", length, offset,
                                    first_, end_));
    if (length < format_.least_chunk_bytes || length > format_.max_chunk_bytes)
      return bad(entry, fmt::format("{} bytes, a chunk has {} to {}", length, format_.least_chunk_bytes,
                                    format_.max_chunk_bytes));
    return ShardExtent{shard_.offset + offset, length};
  }

  Status no_two_overlap(const std::vector<ShardExtent>& extents) const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t entry = 0; entry < extents.size(); ++entry)
      if (extents[entry].offset != kNoChunk && extents[entry].length > 0) order.push_back(entry);
    std::ranges::sort(order, {}, [&](std::uint32_t entry) { return extents[entry].offset; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const ShardExtent &before = extents[order[i - 1]], &after = extents[order[i]];
      if (before.offset + before.length > after.offset)
        return bad(order[i], fmt::format("{} bytes at {} overlap those of another chunk, {} at {}",
                                         after.length, after.offset, before.length, before.offset));
    }
    return {};
  }

 private:
  std::unexpected<Error> bad(std::uint64_t entry, const std::string& what) const {
    const std::uint64_t at = index_offset(format_, shard_) + kEntryBytes * entry;
    return fail(ErrorCode::kCorrupt, fmt::format("{}: {}", describe_entry(format_, entry), what),
                {uri_, static_cast<std::int64_t>(at), static_cast<std::int64_t>(kEntryBytes), -1});
  }

  const ShardIndexFormat& format_;
  const ShardExtent& shard_;
  const std::string& uri_;
  const std::uint64_t first_, end_;  // the range that chunks may use
};

}  // namespace

Result<ByteRange> index_range(const ShardIndexFormat& format, const ShardExtent& shard,
                              const std::string& uri) {
  if (shard.length < format.bytes())
    return fail(ErrorCode::kTruncated,
                fmt::format("a shard of {} bytes, its index alone has {}", shard.length, format.bytes()),
                {uri, static_cast<std::int64_t>(shard.offset), static_cast<std::int64_t>(shard.length), -1});
  return ByteRange{index_offset(format, shard), format.bytes(), false};
}

Result<ShardIndex> ShardIndex::parse(ConstBytes bytes, const ShardIndexFormat& format,
                                     const ShardExtent& shard, const std::string& uri) {
  const auto range = index_range(format, shard, uri);
  if (!range) return std::unexpected(range.error());
  const Where where{uri, static_cast<std::int64_t>(range->offset), static_cast<std::int64_t>(range->length),
                    -1};
  if (bytes.size() != format.bytes())
    return fail(ErrorCode::kTruncated,
                fmt::format("shard index of {} bytes, {} expected", bytes.size(), format.bytes()), where);
  ByteReader reader(bytes);
  const ConstBytes entries = reader.take(kEntryBytes * format.chunks());
  if (format.has_checksum && reader.read<std::uint32_t>() != crc32c(entries))
    return fail(ErrorCode::kCorrupt, "shard index: wrong checksum", where);

  ByteReader numbers(entries);
  const auto next = [&] {
    const auto number = numbers.read<std::uint64_t>();
    return format.big_endian ? std::byteswap(number) : number;
  };
  const IndexCheck check(format, shard, uri);
  ShardIndex index;
  index.extents_.reserve(format.chunks());
  for (std::uint64_t entry = 0; entry < format.chunks(); ++entry) {
    const std::uint64_t offset = next(), length = next();
    const auto extent = check.checked(entry, offset, length);
    if (!extent) return std::unexpected(extent.error());
    index.extents_.push_back(*extent);
  }
  PENSTOCK_CHECK(check.no_two_overlap(index.extents_));
  return index;
}

std::optional<ShardExtent> ShardIndex::find(std::uint64_t chunk) const {
  const ShardExtent& extent = extents_[chunk];
  if (extent.offset == kNoChunk) return std::nullopt;
  return extent;
}

}  // namespace penstock
