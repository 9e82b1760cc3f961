#include "fetch/stream_blocks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/random.h"
#include "store/file/file_store.h"
#include "support/listed_source.h"
#include "support/make_gzip.h"
#include "support/temporary_folder.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

constexpr std::size_t kBlocks = 6;
constexpr std::uint64_t kBlockBytes = 1000;

// Letters that differ from block to block.
std::string block_text(std::size_t number) { return std::string(kBlockBytes, static_cast<char>('a' + number)); }

std::string whole_text() {
  std::string text;
  for (std::size_t number = 0; number < kBlocks; ++number) text += block_text(number);
  return text;
}

// One compressed shard, as it is now.
void add_stream(ListedSource& source, const Store& store, const std::string& object) {
  const ObjectVersion version = *store.stat(object);
  source.stored.streams.push_back({object, version.modified_ns, version.size, {}, &store});
  for (std::uint64_t number = 0; number < kBlocks; ++number)
    source.stored.blocks.push_back({0, number * kBlockBytes, (number + 1) * kBlockBytes});
}

StreamPlan plan_for(std::size_t blocks) { return {blocks * kBlockBytes, 1000, 1, 2}; }

class StreamBlocksTest : public testing::Test {
 protected:
  StreamBlocksTest() {
    store->put("shard.gz", gzip(whole_text()));
    add_stream(source, *store, "shard.gz");
  }
  void open(std::size_t blocks_in_memory) {
    streams = std::make_unique<StreamBlocks>(source, std::make_shared<Area>(ledger, 1 << 20),
                                             plan_for(blocks_in_memory));
    streams->start();
    before_ = store->counts();
  }
  // Its text, or what went wrong.
  std::string text(std::size_t block) {
    const auto got = streams->get(block);
    return got ? std::string(text_of((*got)->bytes())) : got.error().describe();
  }
  int opened() const { return store->counts().opened - before_.opened; }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  ListedSource source{{{"a", FieldKind::kText}}, store};
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(1 << 20);
  std::unique_ptr<StreamBlocks> streams;

 private:
  WatchedStore::Counts before_;
};

TEST_F(StreamBlocksTest, a_block_is_decompressed_once_for_all_who_ask) {
  open(kBlocks);
  EXPECT_EQ(text(0), block_text(0));
  const auto after = store->counts();
  EXPECT_EQ(text(0), block_text(0));
  EXPECT_EQ(store->counts(), after);
}

TEST_F(StreamBlocksTest, blocks_on_the_way_are_kept_as_long_as_there_is_memory) {
  open(kBlocks);
  EXPECT_EQ(text(4), block_text(4));
  for (const std::size_t block : {1, 3, 0}) EXPECT_EQ(text(block), block_text(block));
  EXPECT_EQ(opened(), 1);
}

TEST_F(StreamBlocksTest, going_back_to_a_block_that_is_gone_begins_the_shard_anew) {
  open(2);
  EXPECT_EQ(text(4), block_text(4));
  EXPECT_EQ(text(0), block_text(0));
  EXPECT_EQ(opened(), 2);
  EXPECT_EQ(text(1), block_text(1)) << "forward again";
  EXPECT_EQ(opened(), 2);
}

TEST_F(StreamBlocksTest, memory_stays_within_its_plan_and_comes_back) {
  open(2);
  for (std::size_t block = 0; block < kBlocks; ++block) text(block);
  EXPECT_LE(ledger->peak(), plan_for(2).bytes());
  streams->limit(plan_for(1));
  EXPECT_EQ(ledger->used(), plan_for(1).bytes());
  streams.reset();
  EXPECT_EQ(ledger->used(), 0u);
}

TEST_F(StreamBlocksTest, a_block_that_never_fits_is_an_error_that_names_its_bytes) {
  open(0);
  const auto got = streams->get(1);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(got.error().where.uri, "shard.gz");
}

TEST_F(StreamBlocksTest, a_shard_that_changed_since_it_was_indexed_is_an_error_that_names_it) {
  store->put("shard.gz", gzip(whole_text()));
  open(kBlocks);
  const auto got = streams->get(0);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kChanged);
  EXPECT_EQ(got.error().where.uri, "shard.gz");
}

TEST_F(StreamBlocksTest, blocks_of_an_earlier_epoch_serve_if_the_file_is_the_same) {
  open(kBlocks);
  text(2);
  streams->start();
  EXPECT_EQ(text(1), block_text(1));
  EXPECT_EQ(opened(), 1);
  store->put("shard.gz", gzip("another"));
  EXPECT_EQ(text(1), block_text(1)) << "it is looked at once per epoch";
  streams->start();
  EXPECT_EQ(streams->get(1).error().code, ErrorCode::kChanged);
}

TEST_F(StreamBlocksTest, damage_is_not_looked_for_twice) {
  auto damaged = gzip(whole_text());
  damaged.resize(damaged.size() / 2);
  store->put("shard.gz", damaged);
  source.stored = {};
  add_stream(source, *store, "shard.gz");
  open(kBlocks);
  ASSERT_FALSE(streams->get(kBlocks - 1));
  const auto after = store->counts();
  const auto again = streams->get(kBlocks - 1);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kTruncated);
  EXPECT_EQ(store->counts(), after);
}

TEST_F(StreamBlocksTest, damage_is_forgotten_when_the_file_was_mended) {
  const TemporaryFolder folder;
  const FileStore files;
  const auto sound = gzip(whole_text());
  auto damaged = sound;
  for (std::size_t i = damaged.size() / 2; i < damaged.size(); ++i) damaged[i] ^= std::byte{0xFF};
  const std::string path = folder.write("shard.gz", damaged);
  const auto time = std::filesystem::last_write_time(path);
  source.stored = {};
  add_stream(source, files, path);
  open(kBlocks);
  ASSERT_FALSE(streams->get(kBlocks - 1));
  // The same size and time as when it was indexed, as a backup that is copied back has.
  std::filesystem::rename(folder.write("mended.gz", sound), path);
  std::filesystem::last_write_time(path, time);
  streams->start();
  EXPECT_EQ(text(kBlocks - 1), block_text(kBlocks - 1));
}

TEST_F(StreamBlocksTest, workers_that_ask_at_the_same_time_all_get_their_blocks) {
  open(4);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> workers;
    for (std::uint64_t worker = 0; worker < 4; ++worker)
      workers.emplace_back([&, worker] {
        Draws draws(1, 0, worker);
        for (int i = 0; i < 50; ++i) {
          const auto block = static_cast<std::size_t>(draws.below(kBlocks));
          if (text(block) != block_text(block)) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(ledger->peak(), plan_for(4).bytes());
}

TEST_F(StreamBlocksTest, as_many_batches_ahead_are_planned_as_fit) {
  source.values.resize(60);  // samples, 10 in each block
  const std::uint64_t decoders = plan_streams(source, {.prefetch = 1, .max_bytes = 1 << 30})->decoder_bytes;
  const StreamRequest little{.batch_samples = 10, .prefetch = 8, .max_bytes = decoders + 4 * kBlockBytes};
  const auto plan = plan_streams(source, little);
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_LT(plan->prefetch, 8u);
  EXPECT_LE(plan->bytes(), little.max_bytes);
  const auto none = plan_streams(source, {.batch_samples = 10, .max_bytes = 1000});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNoMemory);
}

}  // namespace
}  // namespace penstock
