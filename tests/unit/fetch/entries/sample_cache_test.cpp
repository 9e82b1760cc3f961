#include "fetch/entries/sample_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cache/lru_tier.h"
#include "plan/field_plan.h"
#include "support/device_tier.h"
#include "support/listed_source.h"
#include "support/memory_cache.h"
#include "support/test_worker.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

class SampleCacheTest : public testing::Test {
 protected:
  void open(std::size_t reads_ahead = 0) {
    store = std::make_shared<WatchedStore>(reads_ahead);
    store->put("shard", "aaaabbbb");
    source = std::make_shared<ListedSource>(std::vector<FieldInfo>{{"a", FieldKind::kText}}, store);
    for (const std::uint64_t offset : {0, 4}) source->extents.push_back({extent_in_shard(*store, "shard", offset, 4)});
    plan = *plan_fields(source, {});
    loader = std::make_unique<SampleCache>(tiers, plan, CacheForm::kEncoded);
    allocate = cached_value_allocator(worker.scratch);
  }
  SampleCache::Subject subject(std::uint64_t sample) const { return loader->subject(0, source->extents[sample][0]); }
  bool add(std::uint64_t sample, std::string_view text, const ObjectVersion& version) {
    const auto fill = [&](MutableBytes bytes, EntryHead&) -> Status {
      std::ranges::copy(bytes_of(text), bytes.begin());
      return {};
    };
    const auto added = loader->add(subject(sample), version, text.size(), fill, allocate);
    return added && *added;
  }
  // "" where there is no entry that counts.
  std::string find(std::uint64_t sample) {
    const auto value = loader->find(subject(sample), allocate, worker.counters.cache, nullptr);
    return value ? std::string(text_of(value->bytes)) : "";
  }
  ObjectVersion version() const { return *store->stat("shard"); }
  void forget_versions() {
    for (auto& sample : source->extents) sample[0].modified_ns = Extent::kUnknown;
  }

  std::shared_ptr<const TieredCache> tiers = memory_cache();
  std::shared_ptr<WatchedStore> store;
  std::shared_ptr<ListedSource> source;
  SamplePlan plan;
  std::unique_ptr<SampleCache> loader;
  TestWorker worker;
  CacheTier::Allocate allocate;
};

TEST_F(SampleCacheTest, finds_what_was_added_for_the_same_sample_alone) {
  open();
  EXPECT_TRUE(add(0, "aaaa", version()));
  EXPECT_EQ(find(0), "aaaa");
  EXPECT_EQ(find(1), "");
  EXPECT_TRUE(loader->has_sample(0));
  EXPECT_FALSE(loader->has_sample(1));
}

TEST_F(SampleCacheTest, an_entry_of_another_version_than_the_index_has_is_withdrawn) {
  open();
  ObjectVersion old = version();
  --old.modified_ns;
  EXPECT_TRUE(add(0, "old!", old));
  EXPECT_EQ(find(0), "");
  EXPECT_FALSE(loader->has_sample(0));
}

TEST_F(SampleCacheTest, an_entry_of_an_object_that_changed_is_not_served_from_the_next_epoch_on) {
  open();
  forget_versions();
  EXPECT_TRUE(add(0, "aaaa", version()));
  EXPECT_EQ(find(0), "aaaa");
  store->put("shard", "AAAABBBB");
  loader->start_epoch(2);
  EXPECT_EQ(find(0), "");
}

TEST_F(SampleCacheTest, a_shard_is_looked_at_once_per_epoch_for_all_its_entries) {
  open();
  forget_versions();
  add(0, "aaaa", version());
  add(1, "bbbb", version());
  loader->start_epoch(2);
  const int asked = store->counts().asked;
  for (const std::uint64_t sample : {0, 1, 0}) EXPECT_NE(find(sample), "");
  EXPECT_EQ(store->counts().asked, asked + 1);
}

TEST_F(SampleCacheTest, an_entry_that_says_more_of_itself_than_it_has_is_not_served) {
  open();
  const auto fill = [](MutableBytes, EntryHead& head) -> Status {
    describe_array(head, {DType::kInt64, {1000}});
    return {};
  };
  ASSERT_TRUE(*loader->add(subject(0), version(), 4, fill, allocate));
  EXPECT_EQ(find(0), "");
}

TEST_F(SampleCacheTest, an_entry_of_a_server_that_gives_no_versions_serves_its_own_loader_alone) {
  open(8);
  forget_versions();
  const ObjectVersion none{8, 0};
  EXPECT_FALSE(add(0, "aaaa", none)) << "before it is known that there are none";
  EXPECT_TRUE(add(0, "aaaa", none));
  EXPECT_EQ(find(0), "aaaa");
  loader = std::make_unique<SampleCache>(tiers, plan, CacheForm::kEncoded);
  EXPECT_EQ(find(0), "");
}

TEST_F(SampleCacheTest, a_server_is_asked_for_versions_of_what_another_loader_cached) {
  open(8);
  forget_versions();
  EXPECT_TRUE(add(0, "aaaa", version()));
  EXPECT_TRUE(loader->questions(0).empty()) << "it has read it itself";
  loader = std::make_unique<SampleCache>(tiers, plan, CacheForm::kEncoded);
  ASSERT_EQ(loader->questions(0).size(), 1u);
  EXPECT_TRUE(loader->questions(0).front().only_version);
  EXPECT_EQ(find(0), "aaaa");
  EXPECT_TRUE(loader->questions(0).empty());
}

TEST_F(SampleCacheTest, hits_are_counted_for_any_number_of_tiers_and_an_entry_on_a_device_is_none) {
  std::vector<CacheTierPtr> three;
  three.push_back(std::make_unique<DeviceTier>(1 << 20));
  three.push_back(make_lru_tier(10));  // too small for an entry
  three.push_back(make_lru_tier(1 << 20));
  tiers = std::make_shared<TieredCache>(CacheOptions{}, std::move(three));
  open();
  EXPECT_TRUE(add(0, "aaaa", version()));
  EXPECT_EQ(find(0), "aaaa");
  EXPECT_EQ(worker.counters.cache.tiers[2].hits.get(), 1u);
  const auto nothing = [](MutableBytes) -> Status { return {}; };
  ASSERT_TRUE(*tiers->add(subject(1).key, 200, nothing, allocate, {0, false, EntryReader::kAnywhere}));
  EXPECT_EQ(find(1), "");
  EXPECT_FALSE(loader->has_sample(1));
  EXPECT_TRUE(tiers->has(subject(1).key, EntryReader::kAnywhere)) << "it is nothing that is wrong";
  const CacheStats stats = worker.counters.cache.read();
  EXPECT_EQ(stats.hits(), 1u);
  EXPECT_EQ(stats.misses, 1u);
}

}  // namespace
}  // namespace penstock
