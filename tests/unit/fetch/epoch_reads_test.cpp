#include "fetch/epoch_reads.h"

#include <gtest/gtest.h>

#include "support/chunked_letters.h"
#include "support/listed_source.h"
#include "support/make_gzip.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

constexpr std::size_t kBlocks = 64;
constexpr std::uint64_t kBlockBytes = 1000, kSamples = kBlocks;

// A compressed shard of many blocks, one sample in each.
class EpochReadsTest : public testing::Test {
 protected:
  EpochReadsTest() {
    store->put("shard.gz", gzip(std::string(kBlocks * kBlockBytes, 'x')));
    const ObjectVersion version = *store->stat("shard.gz");
    source.stored.streams.push_back({"shard.gz", version.modified_ns, version.size, {}, store.get()});
    for (std::uint64_t number = 0; number < kBlocks; ++number)
      source.stored.blocks.push_back({0, number * kBlockBytes, (number + 1) * kBlockBytes});
    source.values.resize(kSamples);
  }
  // Memory for the decoder of each of so many epochs, and besides for this many blocks.
  std::uint64_t bytes_for(std::uint64_t decoders, std::uint64_t blocks) const {
    const StreamRequest one{.batch_samples = 1, .prefetch = 1, .max_bytes = 1 << 30};
    return decoders * plan_streams(source, one)->decoder_bytes + blocks * kBlockBytes;
  }
  ReadDivision division_of(std::uint64_t area_bytes) {
    ReadDivision::Setup setup{.source = source, .fields = {0}, .ledger = ledger};
    setup.streams = StreamRequest{.batch_samples = 4, .prefetch = 8, .max_bytes = area_bytes};
    setup.stream_area = std::make_shared<Area>(ledger, area_bytes);
    return ReadDivision(std::move(setup));
  }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  ListedSource source{{{"a", FieldKind::kText}}, store};
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(1 << 30);
};

TEST_F(EpochReadsTest, a_source_that_is_read_sample_by_sample_needs_no_memory_and_any_number_of_epochs_fit) {
  const ListedSource plain({{"a", FieldKind::kText}}, store);
  ReadDivision division({.source = plain, .fields = {0}, .ledger = ledger});
  const auto one = division.take({});
  ASSERT_TRUE(one);
  const auto two = division.take({one->get()});
  ASSERT_TRUE(two);
  EXPECT_EQ((*two)->prefetch, UINT64_MAX);
  EXPECT_EQ((*two)->shared().streams, nullptr);
  EXPECT_EQ((*two)->shared().lookahead, nullptr);
  EXPECT_EQ(ledger->peak(), 0u);
}

TEST_F(EpochReadsTest, epochs_have_smaller_shares_the_more_there_are_and_get_them_back) {
  ReadDivision division = division_of(bytes_for(2, 50));
  auto one = division.take({});
  ASSERT_TRUE(one) << one.error().describe();
  EXPECT_EQ((*one)->prefetch, 8u);
  auto two = division.take({one->get()});
  ASSERT_TRUE(two) << two.error().describe();
  EXPECT_LT((*one)->prefetch, 8u);
  EXPECT_EQ((*two)->prefetch, (*one)->prefetch);
  const auto ended = division.put_back(std::move(*two), {one->get()});
  EXPECT_EQ((*one)->prefetch, 8u);
  EXPECT_NE(ended, nullptr) << "to be destroyed by the caller, without a lock";
}

TEST_F(EpochReadsTest, one_epoch_too_many_is_refused_and_the_others_keep_their_shares) {
  ReadDivision division = division_of(bytes_for(1, 50));
  const auto one = division.take({});
  ASSERT_TRUE(one);
  const std::uint64_t before = (*one)->prefetch;
  const auto two = division.take({one->get()});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ((*one)->prefetch, before);
}

TEST_F(EpochReadsTest, what_the_last_epoch_decompressed_serves_the_next_one) {
  ReadDivision division = division_of(bytes_for(2, 50));
  auto reads = division.take({});
  ASSERT_TRUE(reads);
  (*reads)->start(nullptr, {});
  ASSERT_TRUE((*reads)->streams->get(3));
  const int opened = store->counts().opened;
  EXPECT_EQ(division.put_back(std::move(*reads), {}), nullptr) << "there was none to give up";
  const auto again = division.take({});
  ASSERT_TRUE(again);
  (*again)->start(nullptr, {});
  ASSERT_TRUE((*again)->streams->get(3));
  EXPECT_EQ(store->counts().opened, opened);
}

TEST_F(EpochReadsTest, the_streams_that_were_opened_before_are_those_of_the_first_epoch) {
  const std::uint64_t bytes = bytes_for(2, 50);
  ReadDivision::Setup setup{.source = source, .fields = {0}, .ledger = ledger};
  setup.streams = StreamRequest{.batch_samples = 4, .prefetch = 8, .max_bytes = bytes};
  setup.stream_area = std::make_shared<Area>(ledger, bytes);
  setup.opened_streams = std::make_unique<StreamBlocks>(source, setup.stream_area, *plan_streams(source, *setup.streams));
  StreamBlocks* const opened = setup.opened_streams.get();
  ReadDivision division(std::move(setup));
  const auto one = division.take({});
  ASSERT_TRUE(one);
  EXPECT_EQ((*one)->streams.get(), opened);
  const auto two = division.take({one->get()});
  ASSERT_TRUE(two);
  EXPECT_NE((*two)->streams, nullptr);
  EXPECT_NE((*two)->streams.get(), opened) << "each epoch has its own position in the shards";
}

TEST_F(EpochReadsTest, epochs_share_the_decoded_chunks_and_have_a_lookahead_each) {
  ChunkedLetters letters;
  letters.put_all();
  letters.add_sample(0, 0);
  ReadDivision division({.source = *letters.source,
                         .fields = {0},
                         .ledger = ledger,
                         .lookahead = LookaheadPlan{.decoded_chunk_bytes = 1 << 20, .samples_ahead = 8}});
  const auto one = division.take({}), two = division.take({one->get()});
  ASSERT_TRUE(one && two);
  EXPECT_NE((*one)->lookahead, (*two)->lookahead);
  EXPECT_EQ(&(*one)->lookahead->decoded_chunks(), &(*two)->lookahead->decoded_chunks());
  EXPECT_EQ((*one)->shared().lookahead, (*one)->lookahead.get());
}

TEST_F(EpochReadsTest, every_epoch_that_starts_has_a_number_of_its_own) {
  EpochReads one, two;
  one.start(nullptr, {});
  two.start(nullptr, {});
  const std::uint64_t first = one.epoch;
  EXPECT_NE(first, two.epoch);
  one.start(nullptr, {});
  EXPECT_NE(one.epoch, first) << "files may have changed since";
  EXPECT_NE(one.epoch, two.epoch);
  EXPECT_EQ(one.shared().epoch, one.epoch);
}

}  // namespace
}  // namespace penstock
