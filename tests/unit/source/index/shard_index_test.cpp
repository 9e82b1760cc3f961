#include "source/index/shard_index.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "penstock/source.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "store/file/file_store.h"
#include "support/make_tar.h"
#include "support/make_tfrecord.h"
#include "support/temporary_folder.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

std::string record(int i) {
  return tfrecord_frame(example_message({{"n", integer_feature({i})}, {"t", bytes_feature({"text"})}}));
}

class ShardIndex : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::vector<std::string> warnings_;

  OpenOptions options() {
    OpenOptions options;
    options.cache_dir = folder_ / "cache";
    options.warn = [this](const std::string& text) { warnings_.push_back(text); };
    return options;
  }
  void write_records(const std::string& name, int from, int to) {
    std::string file;
    for (int i = from; i < to; ++i) file += record(i);
    folder_.write(name, bytes_of(file));
  }
  Result<SourcePtr> open() { return open_source(folder_ / "s*.tfrecord", options()); }
  std::string kept() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/index"))
      return entry.path();
    return "";
  }
};

TEST_F(ShardIndex, is_kept_and_used_again) {
  write_records("s0.tfrecord", 0, 10);
  write_records("s1.tfrecord", 10, 15);
  const auto first = open();
  ASSERT_TRUE(first) << first.error().describe();
  EXPECT_FALSE((*first)->storage().index_was_saved);
  const auto second = open();
  ASSERT_TRUE(second);
  EXPECT_TRUE((*second)->storage().index_was_saved);
  EXPECT_EQ((*second)->size(), 15u);
  EXPECT_EQ((*second)->fingerprint(), (*first)->fingerprint());
  EXPECT_EQ((*second)->key(12), "s1.tfrecord:2");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ShardIndex, is_made_anew_and_said_once_where_shards_changed_or_came) {
  write_records("s0.tfrecord", 0, 10);
  ASSERT_TRUE(open());
  write_records("s0.tfrecord", 100, 130);
  ASSERT_EQ((*open())->size(), 30u);
  EXPECT_EQ(warnings_.size(), 1u);
  write_records("s1.tfrecord", 0, 5);
  ASSERT_EQ((*open())->size(), 35u);
  EXPECT_EQ(warnings_.size(), 2u);
  ASSERT_TRUE(open());
  EXPECT_EQ(warnings_.size(), 2u);
}

TEST_F(ShardIndex, every_damaged_byte_of_the_kept_file_is_noticed_and_mended) {
  write_records("s0.tfrecord", 0, 4);
  const auto good = open();
  ASSERT_TRUE(good);
  const std::string path = kept();
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (std::size_t at = 0; at <= bytes.size(); at += 3) {
    std::string damaged = bytes;
    if (at == bytes.size())
      damaged.resize(bytes.size() / 2);
    else
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    {
      std::ofstream file(path, std::ios::binary | std::ios::trunc);
      file << damaged;
    }
    warnings_.clear();
    const auto source = open();
    ASSERT_TRUE(source) << source.error().describe();
    EXPECT_FALSE((*source)->storage().index_was_saved) << "byte " << at;
    EXPECT_EQ(warnings_.size(), 1u) << "byte " << at;
    EXPECT_EQ((*source)->fingerprint(), (*good)->fingerprint());
    ASSERT_TRUE((*open())->storage().index_was_saved);
  }
}

TEST_F(ShardIndex, a_shard_that_was_cut_between_records_is_an_error_that_says_how_much_is_missing) {
  write_records("s0.tfrecord", 0, 50);
  ASSERT_TRUE(open());
  write_records("s0.tfrecord", 0, 30);
  const auto cut = open();
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kTruncated);
  EXPECT_EQ(cut.error().where.sample, 30);
  EXPECT_EQ(cut.error().where.offset,
            static_cast<std::int64_t>(std::filesystem::file_size(folder_ / "s0.tfrecord")));
  EXPECT_GT(cut.error().where.length, 0);
  EXPECT_FALSE(open()) << "and again, the index was not replaced";
  // Asked to go on, it reports and goes on.
  OpenOptions tolerant = options();
  std::vector<Error> bad;
  tolerant.on_bad_shard = [&](const Error& error) { bad.push_back(error); };
  const auto rest = open_source(folder_ / "s*.tfrecord", tolerant);
  ASSERT_TRUE(rest);
  EXPECT_EQ((*rest)->size(), 30u);
  EXPECT_EQ(bad.size(), 1u);
}

TEST_F(ShardIndex, a_bad_shard_among_good_ones_is_named) {
  TarArchive tar;
  tar.add_file("1.txt", "x");
  tar.add_file("2.txt", "y");
  folder_.write("good.tar", tar.finish());
  auto cut = tar.finish();
  cut.resize(700);
  folder_.write("bad.tar", cut);
  const auto source = open_source(folder_ / "*.tar", options());
  ASSERT_FALSE(source);
  EXPECT_TRUE(source.error().where.uri.ends_with("bad.tar"));
  EXPECT_EQ(source.error().where.offset, 0) << "of the member that is cut";
}

TEST_F(ShardIndex, shards_without_records_are_fine_as_long_as_one_has_some) {
  folder_.write("s0.tfrecord", std::vector<std::byte>{});
  write_records("s1.tfrecord", 0, 3);
  folder_.write("s2.tfrecord", std::vector<std::byte>{});
  const auto source = open();
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ((*source)->size(), 3u);
  EXPECT_EQ((*source)->key(0), "s1.tfrecord:0");
}

TEST_F(ShardIndex, records_stand_where_an_index_of_dali_says) {
  for (const std::string name : {"example", "sequence"}) {
    const std::string file = std::string(PENSTOCK_GOLDEN_DIR) + "/records/" + name + ".tfrecord";
    OpenOptions once = options();
    once.keep_index = false;
    const auto source = open_source(file, once);
    ASSERT_TRUE(source) << source.error().describe();
    std::ifstream index(file + ".idx");
    std::uint64_t offset = 0, length = 0, sample = 0;
    for (; index >> offset >> length; ++sample) {
      EXPECT_EQ((*source)->extent(sample, 0)->offset, offset);
      EXPECT_EQ((*source)->extent(sample, 0)->length, length);
    }
    EXPECT_EQ(sample, (*source)->size());
  }
}

}  // namespace
}  // namespace penstock
