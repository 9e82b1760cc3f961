#include "source/mds/mds_shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_reader.h"

namespace penstock {
namespace {

constexpr std::uint64_t kTablePieceBytes = 256 << 10;  // a multiple of four; readers have buffers of this size

}  // namespace

Status scan_mds_shard(ForwardReader& reader, const std::string& path, const MdsShard& shard, ShardContents& out) {
  const auto where = [&](std::uint64_t offset, std::uint64_t length) {
    return Where{path, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length), -1};
  };
  out.field_names = {"sample"};
  const std::uint64_t table_end = mds_table_bytes(shard.samples);
  std::uint64_t before = 0;
  for (std::uint64_t at = 0; at < table_end;) {
    const std::uint64_t wanted = std::min(kTablePieceBytes, table_end - at);
    const auto piece = reader.at(at, static_cast<std::size_t>(wanted));
    if (!piece) return std::unexpected(piece.error());
    if (piece->size() < wanted)
      return fail(ErrorCode::kTruncated, "MDS shard ends within its table of offsets", where(at, piece->size()));
    ByteReader numbers(*piece);
    if (at == 0) {
      const auto samples = numbers.read<std::uint32_t>();
      if (samples != shard.samples)
        return fail(ErrorCode::kCorrupt,
                    fmt::format("MDS shard has {} samples, {} says {}", samples, kMdsIndexName, shard.samples), where(0, 4));
    }
    while (numbers.left() > 0) {
      const std::uint64_t entry = at + numbers.offset();
      const std::uint64_t offset = numbers.read<std::uint32_t>();
      if (offset < std::max(before, table_end) || offset > shard.raw.size_bytes)
        return fail(ErrorCode::kCorrupt,
                    fmt::format("MDS shard: the table of offsets has {}, which is not between {} and {}", offset,
                                std::max(before, table_end), shard.raw.size_bytes),
                    where(entry, 4));
      // The first entry begins the first sample; each other one ends a sample and begins the next.
      if (before > 0) {
        PENSTOCK_CHECK(out.growth.add(ShardContents::kBytesPerMember + ShardContents::kBytesPerSample, entry, 4));
        out.first_members.push_back(out.offsets.size());
        out.offsets.push_back(before);
        out.lengths.push_back(offset - before);
        out.fields.push_back(0);
      }
      before = offset;
    }
    at += wanted;
  }
  if (before != shard.raw.size_bytes)
    return fail(ErrorCode::kCorrupt,
                fmt::format("MDS shard: its samples end at {}, {} says {}", before, kMdsIndexName, shard.raw.size_bytes),
                where(table_end - 4, 4));
  return {};
}

}  // namespace penstock
