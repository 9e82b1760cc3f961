#include "source/index/record_index.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

ShardContents shard(std::vector<std::string> keys, std::vector<std::string> fields, std::uint64_t length) {
  ShardContents out;
  out.field_names = std::move(fields);
  for (const std::string& key : keys) {
    out.first_members.push_back(out.offsets.size());
    for (std::uint16_t field = 0; field < out.field_names.size(); ++field) {
      out.offsets.push_back(1000 * out.offsets.size());
      out.lengths.push_back(length + field);
      out.fields.push_back(field);
    }
    out.keys += key;
    out.key_ends.push_back(out.keys.size());
  }
  return out;
}

RecordIndex example() {
  return *RecordIndex::build({"/a", "/b", "/c", "/d"}, {{70000, 2}, {70000, 4}, {70000, 6}, {70000, 8}},
                             {shard({}, {}, 0), shard({"one", ""}, {"jpg", "cls"}, 7), shard({}, {"cls"}, 0),
                              shard({"three"}, {"cls", "txt"}, 90)});
}

TEST(RecordIndex, gives_back_what_was_put_in) {
  const RecordIndex index = example();
  ASSERT_EQ(index.size(), 3u);
  EXPECT_EQ(index.field_names(), (std::vector<std::string>{"jpg", "cls", "txt"}));
  EXPECT_EQ(index.samples_with(0), 2u);
  EXPECT_EQ(index.samples_with(1), 3u);
  EXPECT_EQ(index.key(0), "one");
  EXPECT_EQ(index.key(1), "");
  EXPECT_EQ(index.key(2), "three");
  EXPECT_EQ(index.shard_of(0), 1u);
  EXPECT_EQ(index.shard_of(1), 1u);
  EXPECT_EQ(index.shard_of(2), 3u);
  EXPECT_EQ(index.samples_of_shard(0), 0u);
  EXPECT_EQ(index.samples_of_shard(3), 1u);
  EXPECT_EQ(index.shards()[3].version, (ObjectVersion{70000, 8}));
  EXPECT_EQ(index.member(2, 0).field, 1) << "fields have one numbering over all shards";
  EXPECT_EQ(index.member(2, 1).length, 91u);
  EXPECT_EQ(index.stored_bytes(), 7u + 8 + 7 + 8 + 90 + 91);
}

TEST(RecordIndex, a_copy_lives_longer_than_the_original) {
  std::optional<RecordIndex> index = example();
  const RecordIndex copy = *index;
  index.reset();
  EXPECT_EQ(copy.key(2), "three");
}

TEST(RecordIndex, every_cut_and_every_flipped_bit_of_the_file_is_noticed) {
  const RecordIndex index = example();
  const std::vector<std::byte> bytes(index.bytes().begin(), index.bytes().end());
  ASSERT_TRUE(RecordIndex::parse(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(RecordIndex::parse({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}))
        << size;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<std::byte> damaged = bytes;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_FALSE(RecordIndex::parse(std::move(damaged))) << "bit " << bit;
  }
}

TEST(RecordIndex, the_fingerprint_knows_keys_and_sizes_but_not_paths_and_times) {
  const auto build = [](const char* path, std::int64_t time, const std::string& key, std::uint64_t length) {
    return RecordIndex::build({path}, {{100000, time}}, {shard({key}, {"txt"}, length)})->fingerprint();
  };
  const std::uint64_t one = build("/a", 1, "key", 5);
  EXPECT_EQ(one, build("/b", 2, "key", 5));
  EXPECT_NE(one, build("/a", 1, "kez", 5));
  EXPECT_NE(one, build("/a", 1, "key", 6));
}

}  // namespace
}  // namespace penstock
