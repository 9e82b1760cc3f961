#include "fetch/bytes/store_bytes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "plan/field_plan.h"
#include "support/listed_source.h"
#include "support/temporary_folder.h"
#include "support/test_worker.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

constexpr auto kLongAfter = std::numeric_limits<std::int64_t>::max();

class StoreBytesTest : public testing::Test {
 protected:
  StoreBytesTest() {
    store->put("shard", "aaaabbbbccccdddd");
    store->put("other shard", "eeeeffff");
    for (const char* object : {"shard", "shard", "other shard"}) {
      const std::uint64_t offset = source->extents.size() == 1 ? 8 : 0;
      source->extents.push_back(
          {extent_in_shard(*store, object, offset, 4), extent_in_shard(*store, object, offset + 4, 4)});
    }
    store->put("file", "one sample");
    source->extents.push_back({extent_of_file(*store, "file")});
  }

  StoreBytes& bytes() {
    if (!bytes_) {
      plan = *plan_fields(source, {});
      plan.opened_at_ns = opened_at_ns;
      plan.max_open_objects = max_open_objects;
      bytes_ = std::make_unique<StoreBytes>(plan, worker.scratch, worker.clock, worker.origin);
      before_ = store->counts();
    }
    return *bytes_;
  }
  Result<RecordValue> read(std::uint64_t sample, std::size_t field) {
    return bytes().read({plan.fields[field], field, 0, sample}, source->extents[sample][field]);
  }
  // The bytes, or what went wrong.
  std::string text(std::uint64_t sample, std::size_t field) {
    const auto value = read(sample, field);
    return value ? std::string(text_of(value->bytes)) : value.error().describe();
  }
  // Since the first read.
  int opened() const { return store->counts().opened - before_.opened; }
  int reads() const { return store->counts().read - before_.read; }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  std::shared_ptr<ListedSource> source = std::make_shared<ListedSource>(
      std::vector<FieldInfo>{{"a", FieldKind::kText}, {"b", FieldKind::kText, FieldForm::kFile, true}}, store);
  std::int64_t opened_at_ns = 0;
  std::size_t max_open_objects = 16;
  TestWorker worker;
  SamplePlan plan;

 private:
  std::unique_ptr<StoreBytes> bytes_;
  WatchedStore::Counts before_;
};

TEST_F(StoreBytesTest, one_read_serves_all_fields_of_a_sample_that_lie_close_together) {
  EXPECT_EQ(text(0, 0), "aaaa");
  EXPECT_EQ(text(0, 1), "bbbb");
  EXPECT_EQ(reads(), 1);
  EXPECT_EQ(worker.origin.reads, 1u);
  bytes().end_sample();
  EXPECT_EQ(text(1, 1), "dddd");
  EXPECT_EQ(text(1, 0), "cccc");
  EXPECT_EQ(reads(), 2);
}

TEST_F(StoreBytesTest, a_shard_stays_open_and_is_looked_at_once_per_epoch) {
  bytes().turn_to({.epoch = 1});
  for (const std::uint64_t sample : {0, 1, 0, 1}) {
    EXPECT_EQ(text(sample, 0), sample == 0 ? "aaaa" : "cccc");
    bytes().end_sample();
  }
  EXPECT_EQ(opened(), 1);
  const int asked = store->counts().asked;
  bytes().turn_to({.epoch = 2});
  for (const std::uint64_t sample : {0, 1}) {
    text(sample, 0);
    bytes().end_sample();
  }
  EXPECT_EQ(opened(), 1);
  EXPECT_EQ(store->counts().asked, asked + 1);
}

TEST_F(StoreBytesTest, a_shard_that_was_replaced_between_epochs_is_opened_again) {
  for (auto& sample : source->extents)
    for (Extent& extent : sample) extent.modified_ns = Extent::kUnknown;
  bytes().turn_to({.epoch = 1});
  EXPECT_EQ(text(0, 0), "aaaa");
  bytes().end_sample();
  store->put("shard", "AAAABBBBCCCCDDDD");
  bytes().turn_to({.epoch = 2});
  EXPECT_EQ(text(0, 0), "AAAA");
}

TEST_F(StoreBytesTest, a_shard_that_is_not_the_one_that_was_indexed_has_changed) {
  bytes();
  store->put("shard", "AAAABBBB");
  const auto value = read(0, 0);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kChanged);
  EXPECT_NE(value.error().message.find("8 bytes now, 16 when it was indexed"), std::string::npos);
}

TEST_F(StoreBytesTest, a_shard_that_changes_while_it_is_read_has_changed) {
  store->before_read = [this] { store->put("shard", "AAAABBBBCCCCDDDD"); };
  const auto value = read(0, 0);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kChanged);
}

TEST_F(StoreBytesTest, an_old_saved_index_is_discarded_where_a_shard_does_not_fit_it) {
  const TemporaryFolder folder;
  source->stored.index_was_saved = true;
  source->stored.discardable_indexes = {folder.write("index", bytes_of("saved"))};
  opened_at_ns = kLongAfter;
  bytes();
  store->put("shard", "AAAABBBBCCCCDDDD");
  const auto value = read(0, 0);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kChanged);
  EXPECT_FALSE(std::filesystem::exists(folder / "index"));
}

TEST_F(StoreBytesTest, a_file_that_is_newer_than_a_saved_index_is_read_as_it_is_now) {
  source->stored.index_was_saved = true;
  opened_at_ns = kLongAfter;
  bytes();
  store->put("file", "another sample");
  EXPECT_EQ(text(3, 0), "another sample");
  EXPECT_EQ(worker.origin.where.length, 14);
}

TEST_F(StoreBytesTest, a_file_that_changed_since_the_loader_began_has_changed_even_with_a_saved_index) {
  source->stored.index_was_saved = true;
  bytes();
  store->put("file", "another sample");
  EXPECT_EQ(read(3, 0).error().code, ErrorCode::kChanged);
}

TEST_F(StoreBytesTest, an_empty_file_is_truncated) {
  store->put("file", "");
  source->extents[3] = {extent_of_file(*store, "file")};
  const auto value = read(3, 0);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kTruncated);
}

TEST_F(StoreBytesTest, no_more_shards_stay_open_than_the_plan_allows) {
  max_open_objects = 1;
  for (const std::uint64_t sample : {0, 2, 0}) {
    text(sample, 0);
    bytes().end_sample();
  }
  EXPECT_EQ(opened(), 3);
}

TEST_F(StoreBytesTest, fills_parts_without_a_buffer_unless_the_file_has_another_length) {
  bytes();
  std::vector<std::byte> first(4), second(6);
  const std::vector<MutableBytes> parts{first, second};
  const FieldRead wanted{plan.fields[0], 0, 0, 3};
  auto filled = bytes().read_into(wanted, source->extents[3][0], parts);
  ASSERT_TRUE(filled && *filled);
  EXPECT_EQ(text_of(first), "one ");
  EXPECT_EQ(text_of(second), "sample");
  second.resize(5);
  filled = bytes().read_into(wanted, source->extents[3][0], std::vector<MutableBytes>{first, second});
  ASSERT_TRUE(filled);
  EXPECT_FALSE(*filled);
}

}  // namespace
}  // namespace penstock
