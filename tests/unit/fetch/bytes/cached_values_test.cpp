#include "fetch/bytes/cached_values.h"

#include <gtest/gtest.h>

#include "fetch/bytes/record_values.h"
#include "fetch/bytes/store_bytes.h"
#include "plan/field_plan.h"
#include "support/listed_source.h"
#include "support/memory_cache.h"
#include "support/test_worker.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

class CachedValuesTest : public testing::Test {
 protected:
  CachedValuesTest() {
    store->put("file", "text");
    store->put("numbers", "\1\2\3\4");
    store->put("picture", "no picture");
    source->extents = {{extent_of_file(*store, "file"), extent_of_file(*store, "numbers"),
                        extent_of_file(*store, "picture")}};
    // As a folder has them that was listed without versions.
    for (Extent& extent : source->extents[0]) extent.modified_ns = Extent::kUnknown;
    source->layouts.assign(3, {{DType::kInt16, {2}}});
  }
  void open(bool revalidate, CacheForm form = CacheForm::kEncoded) {
    cache = std::make_unique<SampleCache>(memory_cache(revalidate), plan, form);
    values = std::make_unique<CachedValues>(*cache, worker.scratch, worker.clock, worker.origin, records);
    cache->start_epoch(1);
  }
  Result<RecordValue> read(std::size_t field) {
    auto value = values->read({plan.fields[field], field, 0, 0}, source->extents[0][field]);
    return value;
  }
  std::string text(std::size_t field) {
    const auto value = read(field);
    const std::string text = value ? std::string(text_of(value->bytes)) : value.error().describe();
    values->end_sample();
    return text;
  }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  std::shared_ptr<ListedSource> source = std::make_shared<ListedSource>(
      std::vector<FieldInfo>{{"text", FieldKind::kText},
                             {"numbers", FieldKind::kArray, FieldForm::kElements},
                             {"picture", FieldKind::kImage}},
      store);
  SamplePlan plan = *plan_fields(source, {});
  TestWorker worker;
  StoreBytes store_bytes{plan, worker.scratch, worker.clock, worker.origin};
  RecordValues records{*source, worker.scratch, worker.origin, store_bytes};
  std::unique_ptr<SampleCache> cache;
  std::unique_ptr<CachedValues> values;
};

TEST_F(CachedValuesTest, a_value_is_served_without_the_store_once_it_is_cached) {
  open(false);
  EXPECT_EQ(text(0), "text");
  const auto after = store->counts();
  EXPECT_EQ(text(0), "text");
  EXPECT_EQ(store->counts(), after);
  EXPECT_EQ(worker.counters.cache.misses.get(), 1u);
  EXPECT_EQ(worker.counters.cache.tiers[0].hits.get(), 1u);
}

TEST_F(CachedValuesTest, the_object_of_an_entry_is_looked_at_once_per_epoch_and_not_read) {
  open(true);
  EXPECT_EQ(text(0), "text");
  const auto after = store->counts();
  cache->start_epoch(1);
  EXPECT_EQ(text(0), "text");
  EXPECT_EQ(text(0), "text");
  EXPECT_EQ(store->counts().opened, after.opened);
  EXPECT_EQ(store->counts().asked, after.asked + 1);
}

TEST_F(CachedValuesTest, the_value_of_an_object_that_changed_is_not_served) {
  open(true);
  EXPECT_EQ(text(0), "text");
  store->put("file", "TEXT");
  cache->start_epoch(1);
  EXPECT_EQ(text(0), "TEXT");
  EXPECT_EQ(text(0), "TEXT") << "from the cache, which has the new value";
  EXPECT_EQ(worker.counters.cache.tiers[0].hits.get(), 1u);
}

TEST_F(CachedValuesTest, numbers_have_their_type_when_they_come_from_the_cache) {
  open(false);
  for (int i = 0; i < 2; ++i) {
    const auto value = read(1);
    ASSERT_TRUE(value) << value.error().describe();
    EXPECT_EQ(value->elements, (ArraySpec{DType::kInt16, {2}}));
    EXPECT_EQ(text_of(value->bytes), "\1\2\3\4");
    values->end_sample();
  }
  EXPECT_EQ(worker.counters.cache.tiers[0].hits.get(), 1u);
}

TEST_F(CachedValuesTest, an_error_is_not_cached) {
  open(true);
  source->layouts.assign(3, {{DType::kInt16, {3}}});
  EXPECT_EQ(read(1).error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(read(1).error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(worker.counters.cache.misses.get(), 2u);
}

TEST_F(CachedValuesTest, fields_of_which_pixels_are_cached_are_passed_on) {
  open(false, CacheForm::kDecoded);
  text(2);
  const int read = store->counts().read;
  text(2);
  EXPECT_EQ(store->counts().read, read + 1);
  EXPECT_EQ(worker.counters.cache.misses.get(), 0u);
}

TEST_F(CachedValuesTest, nothing_goes_straight_to_a_slot_past_the_cache) {
  open(false);
  std::vector<std::byte> slot(4);
  const auto filled =
      values->read_into({plan.fields[1], 1, 0, 0}, source->extents[0][1], std::vector<MutableBytes>{slot});
  EXPECT_TRUE(filled && !*filled);
}

}  // namespace
}  // namespace penstock
