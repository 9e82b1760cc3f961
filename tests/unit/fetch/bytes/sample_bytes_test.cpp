#include "fetch/bytes/sample_bytes.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "plan/field_plan.h"
#include "support/fault_store.h"
#include "support/listed_source.h"
#include "support/memory_cache.h"
#include "support/test_lookahead.h"
#include "support/test_worker.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

std::shared_ptr<ListedSource> source_of(const std::shared_ptr<const Store>& store) {
  auto source = std::make_shared<ListedSource>(
      std::vector<FieldInfo>{{"a", FieldKind::kText}, {"b", FieldKind::kText}}, store);
  source->extents = {{extent_in_shard(*store, "shard", 0, 4), extent_in_shard(*store, "shard", 4, 4)}};
  return source;
}

std::string text(SampleBytes& bytes, const SamplePlan& plan, std::size_t field) {
  const auto value = bytes.read({plan.fields[field], field, 0, 0});
  return value ? std::string(text_of(value->bytes)) : value.error().describe();
}

TEST(SampleBytes, a_file_that_changed_is_an_error_and_the_file_is_named) {
  auto store = std::make_shared<WatchedStore>();
  store->put("shard", "aaaabbbb");
  const SamplePlan plan = *plan_fields(source_of(store), {});
  store->put("shard", "AAAABBBBCCCC");
  TestWorker worker;
  SampleBytes bytes(plan, worker.scratch, worker.clock, worker.origin, nullptr);
  const auto value = bytes.read({plan.fields[1], 1, 0, 0});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kChanged);
  EXPECT_EQ(worker.origin.where.uri, "shard");
  EXPECT_EQ(worker.origin.where.offset, 4);
}

TEST(SampleBytes, a_cached_sample_is_served_by_a_store_that_has_failed) {
  auto store = std::make_shared<WatchedStore>();
  store->put("shard", "aaaabbbb");
  // The index asks for two versions, the first sample opens the shard and reads it.
  auto failing = std::make_shared<FaultStore>(store, FaultPlan{.fail_at = 5, .persistent = true});
  const SamplePlan plan = *plan_fields(source_of(failing), {});
  const SampleCache cache(memory_cache(false), plan, CacheForm::kEncoded);
  TestWorker worker;
  SampleBytes bytes(plan, worker.scratch, worker.clock, worker.origin, &cache);
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(text(bytes, plan, 0), "aaaa");
    EXPECT_EQ(text(bytes, plan, 1), "bbbb");
    bytes.end_sample();
    bytes.turn_to({.cache = &cache, .epoch = 2});
  }
  EXPECT_EQ(failing->operations(), 4u);
}

TEST(SampleBytes, what_was_read_ahead_is_cached_and_not_read_ahead_again) {
  auto store = std::make_shared<WatchedStore>(8);
  store->put("shard", "aaaabbbb");
  const auto source = source_of(store);
  const SamplePlan plan = *plan_fields(source, {});
  const SampleCache cache(memory_cache(), plan, CacheForm::kEncoded);
  TestLookahead ahead(*source, {.ahead_bytes = 4 << 20, .samples_ahead = 64}, 1, &cache);
  TestWorker worker;
  SampleBytes bytes(plan, worker.scratch, worker.clock, worker.origin, &cache);
  bytes.turn_to({.lookahead = &ahead.lookahead, .cache = &cache});
  EXPECT_EQ(text(bytes, plan, 0), "aaaa");
  EXPECT_EQ(text(bytes, plan, 1), "bbbb");
  bytes.end_sample();
  EXPECT_EQ(store->counts().started, 1);
  ahead.start();
  EXPECT_EQ(text(bytes, plan, 0), "aaaa");
  EXPECT_EQ(text(bytes, plan, 1), "bbbb");
  EXPECT_EQ(store->counts().started, 1);
}

TEST(SampleBytes, a_field_that_the_sample_does_not_have_is_an_error) {
  auto store = std::make_shared<WatchedStore>();
  store->put("shard", "aaaabbbb");
  const auto source = source_of(store);
  source->extents[0].pop_back();
  const SamplePlan plan = *plan_fields(source, {});
  TestWorker worker;
  SampleBytes bytes(plan, worker.scratch, worker.clock, worker.origin, nullptr);
  EXPECT_EQ(bytes.read({plan.fields[1], 1, 0, 0}).error().code, ErrorCode::kNotFound);
}

TEST(SampleBytes, more_bytes_than_any_sample_may_have_are_not_read) {
  auto store = std::make_shared<WatchedStore>();
  store->put("shard", "aaaabbbb");
  const auto source = source_of(store);
  source->extents[0][0].length = Limits{}.encoded_bytes + 1;
  const SamplePlan plan = *plan_fields(source, {});
  TestWorker worker;
  SampleBytes bytes(plan, worker.scratch, worker.clock, worker.origin, nullptr);
  EXPECT_EQ(bytes.read({plan.fields[0], 0, 0, 0}).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(store->counts().opened, 0);
}

}  // namespace
}  // namespace penstock
