#include "source/zarr/chunks/zarr_shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/zarr/chunks/shard_index_cache.h"
#include "support/make_shard.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kShardBytes = 1000;

ShardIndexFormat format_of(const ShardOptions& options = {}) {
  return {{2, 2}, options.at_start, options.big_endian, options.has_checksum, 0, 500};
}

Result<ShardIndex> parse(const IndexNumbers& numbers, const ShardOptions& options = {},
                         const ShardExtent& shard = {0, kShardBytes}) {
  return ShardIndex::parse(make_index(numbers, options), format_of(options), shard, "z/c/0/0");
}

Error refused(const IndexNumbers& numbers, const ShardOptions& options = {}) {
  const auto index = parse(numbers, options);
  return index ? Error{ErrorCode::kStopped, "no error", {}, false} : index.error();
}

TEST(ZarrShardIndex, tells_where_chunks_are) {
  for (const bool at_start : {false, true})
    for (const bool big_endian : {false, true})
      for (const bool has_checksum : {false, true}) {
        const auto index =
            parse({{100, 50}, kEmptyEntry, {150, 0}, {400, 500}}, {at_start, big_endian, has_checksum});
        ASSERT_TRUE(index) << index.error().describe();
        EXPECT_EQ(index->chunks(), 4u);
        EXPECT_EQ(index->find(0)->offset, 100u);
        EXPECT_EQ(index->find(0)->length, 50u);
        EXPECT_FALSE(index->find(1));
        EXPECT_EQ(index->find(2)->length, 0u);
        EXPECT_EQ(index->find(3)->offset, 400u);
      }
}

TEST(ZarrShardIndex, counts_from_the_beginning_of_its_shard) {
  const auto index = parse({{0, 50}, kEmptyEntry, kEmptyEntry, kEmptyEntry}, {}, {5000, kShardBytes});
  ASSERT_TRUE(index) << index.error().describe();
  EXPECT_EQ(index->find(0)->offset, 5000u);
}

TEST(ZarrShardIndex, a_wrong_checksum_is_found) {
  auto bytes = make_index({{0, 50}, kEmptyEntry, kEmptyEntry, kEmptyEntry});
  bytes[3] ^= std::byte{1};
  const auto index = ShardIndex::parse(bytes, format_of(), {0, kShardBytes}, "z/c/0/0");
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(index.error().message, HasSubstr("checksum"));
  EXPECT_EQ(index.error().where.uri, "z/c/0/0");
  EXPECT_EQ(index.error().where.offset, 1000 - 68);
  EXPECT_EQ(index.error().where.length, 68);
}

TEST(ZarrShardIndex, chunks_lie_within_the_shard) {
  const std::uint64_t end = kShardBytes - 68;
  EXPECT_EQ(refused({{end - 50, 50}, kEmptyEntry, kEmptyEntry, kEmptyEntry}).code, ErrorCode::kStopped);
  for (const auto& entry : IndexNumbers{{end - 49, 50},
                                        {end + 1, 0},
                                        {2000, 10},
                                        {UINT64_MAX - 10, 20},
                                        {UINT64_MAX, 0},
                                        {UINT64_MAX, 10},
                                        {0, UINT64_MAX},
                                        {10, UINT64_MAX - 5},
                                        {0, 501}}) {
    const Error error = refused({kEmptyEntry, kEmptyEntry, entry, kEmptyEntry});
    EXPECT_EQ(error.code, ErrorCode::kCorrupt) << entry.first << "+" << entry.second;
    EXPECT_THAT(error.message, HasSubstr("chunk 1.0 of the shard"));
    EXPECT_EQ(error.where.uri, "z/c/0/0");
    EXPECT_EQ(error.where.offset, static_cast<std::int64_t>(end + 32));
  }
}

TEST(ZarrShardIndex, chunks_do_not_lie_in_an_index_at_the_start) {
  EXPECT_EQ(refused({{67, 10}, kEmptyEntry, kEmptyEntry, kEmptyEntry}, {.at_start = true}).code,
            ErrorCode::kCorrupt);
  EXPECT_EQ(refused({{68, 10}, {990, 10}, kEmptyEntry, kEmptyEntry}, {.at_start = true}).code,
            ErrorCode::kStopped);
  EXPECT_EQ(refused({{68, 10}, {990, 11}, kEmptyEntry, kEmptyEntry}, {.at_start = true}).where.offset, 16);
}

TEST(ZarrShardIndex, chunks_share_no_bytes) {
  EXPECT_EQ(refused({{30, 10}, {0, 10}, {20, 10}, {10, 10}}).code, ErrorCode::kStopped)
      << "any order will do";
  const Error error = refused({{0, 10}, {5, 10}, kEmptyEntry, kEmptyEntry});
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, HasSubstr("chunk 0.1 of the shard"));
  EXPECT_THAT(error.message, HasSubstr("overlap"));
  EXPECT_EQ(refused({{0, 10}, {0, 10}, kEmptyEntry, kEmptyEntry}).code, ErrorCode::kCorrupt);
  EXPECT_EQ(refused({{0, 100}, {10, 0}, {50, 1}, kEmptyEntry}).code, ErrorCode::kCorrupt);
}

TEST(ZarrShardIndex, a_shard_has_room_for_its_index) {
  const auto bytes = make_index({kEmptyEntry, kEmptyEntry, kEmptyEntry, kEmptyEntry});
  EXPECT_TRUE(ShardIndex::parse(bytes, format_of(), {0, 68}, "z"));
  EXPECT_EQ(ShardIndex::parse(bytes, format_of(), {0, 67}, "z").error().code, ErrorCode::kTruncated);
  EXPECT_EQ(ShardIndex::parse(ConstBytes(bytes).first(67), format_of(), {0, 68}, "z").error().code,
            ErrorCode::kTruncated);
  EXPECT_EQ(index_range(format_of(), {100, 68}, "z")->offset, 100u);
  EXPECT_EQ(index_range(format_of(), {100, 67}, "z").error().code, ErrorCode::kTruncated);
}

TEST(ShardIndexCache, forgets_what_was_used_longest_ago) {
  const auto shard = [] {
    return std::make_shared<const KnownShard>(
        KnownShard{*parse({{0, 1}, kEmptyEntry, kEmptyEntry, kEmptyEntry}), {}});
  };
  const std::size_t each = shard()->size_bytes();
  ShardIndexCache cache(3 * each);
  for (std::uint64_t i = 0; i < 3; ++i) cache.insert({0, i}, shard());
  EXPECT_TRUE(cache.find({0, 0}));
  cache.insert({1, 0}, shard());
  EXPECT_EQ(cache.held_bytes(), 3 * each);
  EXPECT_TRUE(cache.find({0, 0}));
  EXPECT_FALSE(cache.find({0, 1}));
  EXPECT_TRUE(cache.find({1, 0}));
  cache.insert({1, 0}, shard());
  EXPECT_EQ(cache.held_bytes(), 3 * each) << "instead of the one before";
  cache.erase({1, 0});
  cache.erase({1, 0});
  EXPECT_FALSE(cache.find({1, 0}));
  EXPECT_EQ(cache.held_bytes(), 2 * each);
}

TEST(ShardIndexCache, keeps_the_newest_whatever_its_size) {
  ShardIndexCache cache(1);
  cache.insert({0, 0}, std::make_shared<const KnownShard>());
  cache.insert({0, 1}, std::make_shared<const KnownShard>());
  EXPECT_FALSE(cache.find({0, 0}));
  EXPECT_TRUE(cache.find({0, 1}));
}

}  // namespace
}  // namespace penstock
