#include "source/mds/mds_shard.h"

#include <gtest/gtest.h>

#include <cstring>

#include "store/memory_store.h"

namespace penstock {
namespace {

std::vector<std::byte> numbers(const std::vector<std::uint32_t>& values, std::size_t more) {
  std::vector<std::byte> bytes(values.size() * 4 + more);
  std::memcpy(bytes.data(), values.data(), values.size() * 4);
  return bytes;
}

struct Scanned {
  Status status;
  ShardContents contents;
};

// `declared`: the samples and bytes that the index says.
Scanned scan(std::vector<std::byte> bytes, std::uint64_t samples, std::uint64_t size_bytes) {
  MemoryStore store;
  store.put("s.mds", std::move(bytes));
  const auto object = store.open("s.mds");
  const auto reader = make_object_reader(**object);
  MdsShard shard;
  shard.raw.size_bytes = size_bytes;
  shard.samples = samples;
  Scanned scanned;
  scanned.status = scan_mds_shard(*reader, "s.mds", shard, scanned.contents);
  return scanned;
}

TEST(MdsShard, has_the_samples_of_its_table) {
  const auto scanned = scan(numbers({2, 20, 25, 30}, 14), 2, 30);
  ASSERT_TRUE(scanned.status) << scanned.status.error().describe();
  EXPECT_EQ(scanned.contents.offsets, (std::vector<std::uint64_t>{20, 25}));
  EXPECT_EQ(scanned.contents.lengths, (std::vector<std::uint64_t>{5, 5}));
}

TEST(MdsShard, a_table_longer_than_a_piece_is_read_whole) {
  const std::uint32_t samples = 200'000, begin = 4 * (samples + 2);
  std::vector<std::uint32_t> table = {samples};
  for (std::uint32_t i = 0; i <= samples; ++i) table.push_back(begin + i);
  const auto scanned = scan(numbers(table, samples), samples, begin + samples);
  ASSERT_TRUE(scanned.status) << scanned.status.error().describe();
  EXPECT_EQ(scanned.contents.samples(), samples);
  EXPECT_EQ(scanned.contents.offsets.back(), begin + samples - 1);
}

TEST(MdsShard, a_table_that_contradicts_the_index_is_corrupt) {
  EXPECT_TRUE(scan(numbers({0, 8}, 0), 0, 8).status);
  const std::vector<Scanned> bad = {
      scan(numbers({3, 20, 25, 30}, 14), 2, 30),  // another number of samples
      scan(numbers({2, 20, 19, 30}, 14), 2, 30),  // falls
      scan(numbers({2, 12, 19, 30}, 14), 2, 30),  // begins within the table
      scan(numbers({2, 20, 25, 29}, 14), 2, 30),  // ends before the shard
      scan(numbers({2, 20, 25, 31}, 14), 2, 30),  // ends behind it
  };
  for (const Scanned& scanned : bad) {
    ASSERT_FALSE(scanned.status);
    EXPECT_EQ(scanned.status.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(scanned.status.error().where.uri, "s.mds");
  }
  const auto cut = scan(numbers({2, 20, 25}, 0), 2, 30);
  ASSERT_FALSE(cut.status);
  EXPECT_EQ(cut.status.error().code, ErrorCode::kTruncated);
}

}  // namespace
}  // namespace penstock
