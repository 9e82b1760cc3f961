#include "fetch/bytes/block_bytes.h"

#include <gtest/gtest.h>

#include "fetch/bytes/store_bytes.h"
#include "plan/field_plan.h"
#include "support/listed_source.h"
#include "support/make_gzip.h"
#include "support/test_worker.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

constexpr StreamPlan kTwoBlocks{16, 1000, 1, 2};

class BlockBytesTest : public testing::Test {
 protected:
  BlockBytesTest() {
    store->put("shard.gz", gzip("aaaabbbbccccdddd"));
    const ObjectVersion version = *store->stat("shard.gz");
    source->stored.streams = {{"shard.gz", version.modified_ns, version.size, {}, store.get()}};
    source->stored.blocks = {{0, 0, 8}, {0, 8, 16}};
    for (const std::uint64_t offset : {0, 4, 8, 12}) {
      Extent extent = extent_in_shard(*store, "shard.gz", offset, 4);
      extent.block = offset < 8 ? 0 : 1;
      source->extents.push_back({extent});
    }
    bytes.turn_to({.streams = &streams});
  }
  Result<RecordValue> read(std::uint64_t sample) {
    return bytes.read({plan.fields[0], 0, sample, sample}, source->extents[sample][0]);
  }
  std::string text(std::uint64_t sample) {
    const auto value = read(sample);
    return value ? std::string(text_of(value->bytes)) : value.error().describe();
  }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  std::shared_ptr<ListedSource> source =
      std::make_shared<ListedSource>(std::vector<FieldInfo>{{"a", FieldKind::kText}}, store);
  SamplePlan plan = *plan_fields(source, {});
  TestWorker worker;
  StreamBlocks streams{*source, std::make_shared<Area>(worker.ledger, 1 << 20), kTwoBlocks};
  StoreBytes store_bytes{plan, worker.scratch, worker.clock, worker.origin};
  BlockBytes bytes{worker.clock, worker.origin, store_bytes};
};

TEST_F(BlockBytesTest, a_block_is_decompressed_once_for_several_samples) {
  EXPECT_EQ(text(0), "aaaa");
  bytes.end_sample();
  const auto after = store->counts();
  EXPECT_EQ(text(1), "bbbb");
  EXPECT_EQ(store->counts(), after);
  EXPECT_EQ(text(3), "dddd");
  EXPECT_EQ(store->counts().opened, after.opened) << "the shard is read on";
}

TEST_F(BlockBytesTest, fields_of_one_block_are_one_read) {
  text(2);
  text(3);
  EXPECT_EQ(worker.origin.reads, 1u);
  EXPECT_TRUE(worker.origin.version == *store->stat("shard.gz"));
}

TEST_F(BlockBytesTest, no_more_than_one_block_is_held_and_none_after_the_sample) {
  streams.limit({8, 1000, 1, 2});
  EXPECT_EQ(text(0), "aaaa");
  EXPECT_EQ(text(2), "cccc") << "another block would wait for the memory of the first";
  bytes.end_sample();
  streams.limit({0, 1000, 1, 2});
  EXPECT_EQ(worker.ledger->used(), 1000u) << "the decoders'";
}

TEST_F(BlockBytesTest, passes_on_what_is_not_compressed) {
  store->put("file", "one sample");
  source->extents.push_back({extent_of_file(*store, "file")});
  EXPECT_EQ(text(4), "one sample");
  std::vector<std::byte> memory(10);
  const std::vector<MutableBytes> parts{memory};
  auto filled = bytes.read_into({plan.fields[0], 0, 4, 4}, source->extents[4][0], parts);
  EXPECT_TRUE(filled && *filled);
  filled = bytes.read_into({plan.fields[0], 0, 0, 0}, source->extents[0][0], parts);
  EXPECT_TRUE(filled && !*filled);
}

}  // namespace
}  // namespace penstock
