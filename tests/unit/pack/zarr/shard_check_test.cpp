#include "pack/zarr/shard_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "pack/zarr/shard_writer.h"
#include "store/memory_store.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

PackedArray four_chunks() {
  PackedArray array;
  array.name = "x";
  array.sample = {DType::kUInt8, {8}};
  array.samples = 7;  // the second shard has 3 samples of 4
  array.chunk = {2, 4};
  array.shard_samples = 4;
  return array;
}

std::vector<std::byte> with_checksum(const std::string& text) {
  auto bytes = bytes_of(text);
  const std::uint32_t checksum = crc32c(bytes);
  const auto* raw = reinterpret_cast<const std::byte*>(&checksum);
  bytes.insert(bytes.end(), raw, raw + sizeof checksum);
  return bytes;
}

std::vector<std::byte> good_shard(std::uint64_t last = 4) {
  MemoryStore store;
  ShardWriter writer(*store.create("s"), 4, last);
  for (std::uint64_t chunk = 0; chunk < last; ++chunk)
    EXPECT_TRUE(writer.add(chunk, chunk == 1 ? std::vector<std::byte>() : with_checksum("chunk" + std::to_string(chunk))));
  return read_all(store, "s", 1 << 20).value();
}

Result<std::uint64_t> check(std::vector<std::byte> bytes, ShardDepth depth = ShardDepth::kChunks, std::uint64_t shard = 0) {
  MemoryStore store;
  store.put("s", std::move(bytes));
  return check_shard(store, "s", four_chunks(), shard, depth);
}

TEST(ShardCheck, a_good_shard_passes_and_tells_its_size) {
  for (const ShardDepth depth : {ShardDepth::kIndex, ShardDepth::kChunks})
    EXPECT_EQ(check(good_shard(), depth).value(), good_shard().size());
}

TEST(ShardCheck, every_flipped_bit_is_found) {
  const auto good = good_shard();
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= std::byte{16};
    const auto checked = check(bad);
    ASSERT_FALSE(checked.has_value()) << at;
    EXPECT_EQ(checked.error().where.uri, "s");
  }
}

TEST(ShardCheck, every_length_but_the_right_one_is_an_error) {
  const auto good = good_shard();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(check({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}, ShardDepth::kIndex).has_value());
  auto longer = good;
  longer.insert(longer.begin(), std::byte{0});
  EXPECT_FALSE(check(longer, ShardDepth::kIndex).has_value());
}

TEST(ShardCheck, a_shard_with_samples_beyond_the_array_is_another_one) {
  EXPECT_TRUE(check(good_shard(), ShardDepth::kIndex, 0).has_value());
  EXPECT_TRUE(check(good_shard(2), ShardDepth::kIndex, 1).has_value());
  auto array = four_chunks();
  array.samples = 6;
  MemoryStore store;
  store.put("s", good_shard());
  const auto checked = check_shard(store, "s", array, 1, ShardDepth::kIndex);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, ErrorCode::kCorrupt);
}

TEST(ShardCheck, a_missing_shard_is_not_found) {
  const MemoryStore store;
  EXPECT_EQ(check_shard(store, "s", four_chunks(), 0, ShardDepth::kIndex).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace penstock
