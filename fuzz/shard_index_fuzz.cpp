// The index of a Zarr shard: what it says lies within the shard, beside the index, and apart.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "source/zarr/chunks/zarr_shard_index.h"

namespace {

using namespace penstock;

void demand(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

void check(const ShardIndex& index, const ShardIndexFormat& format, const ShardExtent& shard) {
  demand(index.chunks() == format.chunks(), "as many chunks as the shard has");
  std::vector<bool> used(shard.length);
  const std::uint64_t index_at = format.at_start ? 0 : shard.length - format.bytes();
  std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(index_at), format.bytes(), true);
  for (std::uint64_t chunk = 0; chunk < index.chunks(); ++chunk) {
    const auto extent = index.find(chunk);
    if (!extent) continue;
    demand(extent->length >= format.least_chunk_bytes && extent->length <= format.max_chunk_bytes, "sizes");
    demand(extent->offset >= shard.offset, "not before the shard");
    const std::uint64_t offset = extent->offset - shard.offset;
    demand(offset <= shard.length && extent->length <= shard.length - offset, "not behind the shard");
    for (std::uint64_t byte = offset; byte < offset + extent->length; ++byte) {
      demand(!used[byte], "no byte used twice");
      used[byte] = true;
    }
  }
}

}  // namespace

// Eight bytes choose the format, the rest is the index; its checksum is made right, or nothing behind
// it would be reached.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  ShardIndexFormat format;
  format.chunks_each_way = {1 + data[1] % 8, 1 + data[2] % 8};
  format.at_start = data[0] & 1;
  format.big_endian = data[0] & 2;
  format.has_checksum = data[0] & 4;
  format.least_chunk_bytes = data[3] % 16;
  format.max_chunk_bytes = (data[0] & 8) != 0 ? UINT64_MAX : data[4];
  const ShardExtent shard{data[5], data[6] * std::uint64_t{data[7]}};
  const ConstBytes stored = as_bytes(data + 8, size - 8);
  std::vector<std::byte> bytes(stored.begin(), stored.end());
  if ((data[0] & 16) == 0 && bytes.size() >= 4) {
    const std::uint32_t sum = crc32c(ConstBytes(bytes).first(bytes.size() - 4));
    std::memcpy(bytes.data() + bytes.size() - 4, &sum, 4);
  }
  const auto index = ShardIndex::parse(bytes, format, shard, "fuzz");
  if (index) {
    check(*index, format, shard);
  } else {
    demand(index.error().where.uri == "fuzz", "errors name the shard");
    demand(index.error().where.offset >= 0, "errors say where");
  }
  return 0;
}
