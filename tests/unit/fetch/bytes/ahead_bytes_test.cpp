#include "fetch/bytes/ahead_bytes.h"

#include <gtest/gtest.h>

#include "fetch/bytes/store_bytes.h"
#include "plan/field_plan.h"
#include "support/listed_source.h"
#include "support/test_lookahead.h"
#include "support/test_worker.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class AheadBytesTest : public testing::Test {
 protected:
  AheadBytesTest() {
    store->put("shard", "aaaabbbbccccdddd");
    for (const std::uint64_t offset : {0, 8})
      source->extents.push_back(
          {extent_in_shard(*store, "shard", offset, 4), extent_in_shard(*store, "shard", offset + 4, 4)});
    store->put("file", "one sample");
    source->extents.push_back({extent_of_file(*store, "file")});
  }

  // Everything is read ahead from here on.
  void start() {
    ahead = std::make_unique<TestLookahead>(*source, LookaheadPlan{.ahead_bytes = 4 * kMiB, .samples_ahead = 64});
    bytes.turn_to({.lookahead = &ahead->lookahead});
    started_ = store->counts().started;
  }
  Result<RecordValue> read(std::uint64_t position, std::uint64_t sample, std::size_t field) {
    return bytes.read({plan.fields[field], field, position, sample}, source->extents[sample][field]);
  }
  std::string text(std::uint64_t position, std::uint64_t sample, std::size_t field) {
    const auto value = read(position, sample, field);
    return value ? std::string(text_of(value->bytes)) : value.error().describe();
  }
  // Requests since everything was planned.
  int requests() const { return store->counts().started - started_; }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>(8);
  std::shared_ptr<ListedSource> source =
      std::make_shared<ListedSource>(std::vector<FieldInfo>{{"a", FieldKind::kText}, {"b", FieldKind::kText}}, store);
  SamplePlan plan = *plan_fields(source, {});
  TestWorker worker;
  std::unique_ptr<TestLookahead> ahead;  // outlives what was taken from it
  StoreBytes store_bytes{plan, worker.scratch, worker.clock, worker.origin};
  AheadBytes bytes{plan, worker.scratch, worker.clock, worker.origin, store_bytes};

 private:
  int started_ = 0;
};

TEST_F(AheadBytesTest, what_was_planned_is_handed_over_and_not_read_again) {
  start();
  for (const std::uint64_t sample : {0, 1}) {
    EXPECT_EQ(text(sample, sample, 0), sample == 0 ? "aaaa" : "cccc");
    EXPECT_EQ(text(sample, sample, 1), sample == 0 ? "bbbb" : "dddd");
    bytes.end_sample();
  }
  EXPECT_EQ(text(2, 2, 0), "one sample");
  EXPECT_EQ(requests(), 0);
}

TEST_F(AheadBytesTest, the_memory_of_what_was_read_ahead_comes_back_with_the_sample) {
  start();
  for (const std::uint64_t sample : {0, 1, 2}) {
    text(sample, sample, 0);
    bytes.end_sample();
    ahead->lookahead.finish(sample, {});
  }
  EXPECT_EQ(ahead->ledger->used(), 0u);
}

TEST_F(AheadBytesTest, a_stand_in_at_a_position_whose_planned_read_is_another_samples_is_read_by_itself) {
  start();
  EXPECT_EQ(text(0, 1, 0), "cccc");
  EXPECT_EQ(text(0, 1, 1), "dddd") << "with the first field";
  EXPECT_EQ(requests(), 1);
  bytes.end_sample();
  EXPECT_EQ(text(1, 1, 0), "cccc") << "what was planned for its own position is still there";
  EXPECT_EQ(requests(), 1);
}

TEST_F(AheadBytesTest, an_object_that_changed_before_it_was_read_ahead_is_an_error_that_names_it) {
  store->put("shard", "AAAABBBBCCCCDDDD");
  start();
  const auto value = read(0, 0, 0);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kChanged);
  EXPECT_EQ(value.error().where.uri, "shard");
}

TEST_F(AheadBytesTest, an_empty_object_is_truncated) {
  store->put("file", "");
  source->extents[2] = {extent_of_file(*store, "file")};
  start();
  EXPECT_EQ(read(2, 2, 0).error().code, ErrorCode::kTruncated);
}

TEST_F(AheadBytesTest, a_read_that_was_not_planned_is_broken_off_with_the_epoch) {
  start();
  ahead->lookahead.interrupt();
  EXPECT_EQ(read(0, 1, 0).error().code, ErrorCode::kStopped);
}

TEST_F(AheadBytesTest, does_not_fill_slots_where_it_reads_ahead) {
  start();
  std::vector<std::byte> slot(4);
  const auto filled =
      bytes.read_into({plan.fields[0], 0, 0, 0}, source->extents[0][0], std::vector<MutableBytes>{slot});
  ASSERT_TRUE(filled);
  EXPECT_FALSE(*filled);
}

TEST_F(AheadBytesTest, passes_on_what_is_in_a_store_that_is_as_well_read_on_the_spot) {
  auto files = std::make_shared<WatchedStore>();
  files->put("shard", "eeeeffff");
  source->extents.push_back({extent_in_shard(*files, "shard", 0, 4), extent_in_shard(*files, "shard", 4, 4)});
  source->stored.stores.push_back(files);
  start();
  EXPECT_EQ(text(3, 3, 1), "ffff");
  EXPECT_EQ(requests(), 0);
  EXPECT_EQ(files->counts().read, 1);
}

}  // namespace
}  // namespace penstock
