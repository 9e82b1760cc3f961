#include "fetch/lookahead.h"

#include <gtest/gtest.h>

#include <thread>

#include "batch/batch_contents.h"
#include "support/chunked_letters.h"
#include "support/test_lookahead.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
using Stored = ChunkedLetters::Stored;
using Kind = ChunkClaim::Kind;

// Files of one letter, each a sample, on a server.
struct Files {
  explicit Files(std::size_t count, std::size_t reads_ahead = 1000)
      : store(std::make_shared<WatchedStore>(reads_ahead)),
        source({{"a", FieldKind::kText}}, store) {
    for (std::size_t i = 0; i < count; ++i) {
      store->put(std::to_string(i), "a");
      source.extents.push_back({extent_of_file(*store, std::to_string(i))});
    }
  }
  std::shared_ptr<WatchedStore> store;
  ListedSource source;
};

TEST(ChunksOf, lists_each_chunk_of_a_sample_once) {
  ChunkedLetters letters;
  letters.add_sample(1, 2);
  letters.source->chunked[0].push_back(letters.source->chunked[0].front());
  const std::size_t field = 0;
  EXPECT_EQ(chunks_of(*letters.source, std::span(&field, 1), 0),
            (std::vector{ChunkedLetters::kTopLeft, ChunkedLetters::kTopRight, ChunkedLetters::kBottomLeft,
                         ChunkedLetters::kBottomRight}));
}

TEST(PlanLookahead, there_is_nothing_to_plan_where_samples_share_nothing_and_are_read_on_the_spot) {
  const Files files(1, 0);
  EXPECT_FALSE(plan_lookahead(files.source, {.max_bytes = kMiB}));
  EXPECT_TRUE(plan_lookahead(files.source, {.max_bytes = kMiB, .is_cached_on_disk = true}));
}

TEST(PlanLookahead, memory_is_divided_between_decoded_chunks_and_what_is_read_ahead) {
  const Files files(1);
  EXPECT_EQ(plan_lookahead(files.source, {.max_bytes = kMiB})->ahead_bytes, kMiB);
  const ChunkedLetters near, far(Stored::kPlain, 8);
  EXPECT_EQ(plan_lookahead(*near.source, {.max_bytes = kMiB})->decoded_chunk_bytes, kMiB);
  const auto both = plan_lookahead(*far.source, {.max_bytes = kMiB, .decoded_chunk_bytes = 3 * kMiB / 4});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->decoded_chunk_bytes, 3 * kMiB / 4);
  EXPECT_EQ(both->ahead_bytes, kMiB / 4);
}

TEST(PlanLookahead, samples_of_a_batch_are_kept_in_the_making_unless_that_takes_too_much_from_the_chunks) {
  const ChunkedLetters letters;
  LookaheadRequest request{.max_bytes = kMiB, .batch_samples = 4, .open_sample_bytes = kMiB / 16};
  auto plan = plan_lookahead(*letters.source, request);
  EXPECT_EQ(plan->open_samples, 4u);
  EXPECT_EQ(plan->bytes(), kMiB);
  request.batch_samples = 12;
  plan = plan_lookahead(*letters.source, request);
  EXPECT_EQ(plan->open_samples, 0u);
  EXPECT_EQ(plan->decoded_chunk_bytes, kMiB);
}

TEST(Lookahead, reads_for_as_many_samples_as_it_looks_ahead_and_goes_on_as_they_are_finished) {
  Files files(6);
  TestLookahead ahead(files.source, {.ahead_bytes = 4 * kMiB, .samples_ahead = 2});
  EXPECT_EQ(files.store->counts().started, 2);
  ahead.lookahead.extend();
  EXPECT_EQ(files.store->counts().started, 2);
  ahead.lookahead.finish(0, {});
  ahead.lookahead.extend();
  EXPECT_EQ(files.store->counts().started, 3);
}

TEST(Lookahead, gives_back_what_was_read_for_a_sample_that_nobody_took) {
  Files files(2);
  TestLookahead ahead(files.source, {.ahead_bytes = 4 * kMiB, .samples_ahead = 64});
  EXPECT_EQ(ahead.ledger->used(), 2u);
  ahead.lookahead.finish(0, {});
  ahead.lookahead.finish(1, {});
  EXPECT_EQ(ahead.ledger->used(), 0u);
}

class ChunkLookaheadTest : public testing::Test {
 protected:
  // Decodes the chunk for the sample at this position, or finds it.
  Kind use(TestLookahead& ahead, std::uint64_t position, const ChunkId& chunk, const ObjectVersion& version) {
    DecodedChunkCache& decoded = ahead.lookahead.decoded_chunks();
    const auto claim = decoded.claim(ahead.lookahead.use_at(position), chunk, {6});
    if (claim->kind == Kind::kDecode) decoded.publish(chunk, version);
    if (claim->kind == Kind::kDecode || claim->kind == Kind::kReady) decoded.release(chunk);
    return claim->kind;
  }

  ChunkedLetters letters;
  const LookaheadPlan plan{.decoded_chunk_bytes = kMiB, .samples_ahead = 64};
};

TEST_F(ChunkLookaheadTest, decoded_chunks_last_until_their_file_changes) {
  letters.put_all();
  letters.add_sample(0, 0);
  TestLookahead ahead(*letters.source, plan);
  const ObjectVersion version = *letters.store->stat("z/c/0/0");
  EXPECT_EQ(use(ahead, 0, ChunkedLetters::kTopLeft, version), Kind::kDecode);
  ahead.start();
  EXPECT_EQ(use(ahead, 0, ChunkedLetters::kTopLeft, version), Kind::kReady);
  letters.put_all();
  EXPECT_EQ(use(ahead, 0, ChunkedLetters::kTopLeft, version), Kind::kReady) << "files are looked at in each epoch";
  ahead.start();
  EXPECT_EQ(use(ahead, 0, ChunkedLetters::kTopLeft, version), Kind::kDecode);
}

TEST_F(ChunkLookaheadTest, a_chunk_that_two_coming_samples_use_is_read_ahead_once) {
  ChunkedLetters far(Stored::kPlain, 8);
  far.put_all();
  far.add_sample(0, 0);
  far.add_sample(0, 0);
  const int before = far.store->counts().started;
  TestLookahead ahead(*far.source, {.decoded_chunk_bytes = kMiB, .ahead_bytes = 4 * kMiB, .samples_ahead = 64});
  EXPECT_EQ(far.store->counts().started, before + 1) << "one read for both samples";
}

TEST_F(ChunkLookaheadTest, a_sample_is_open_while_its_batch_is_in_the_making) {
  for (int i = 0; i < 4; ++i) letters.add_sample(0, 0);
  TestLookahead ahead(*letters.source, plan, 2);
  BatchContents contents;
  ahead.lookahead.open_batch({2, 2}, contents);
  EXPECT_EQ(ahead.lookahead.find_open(ahead.lookahead.use_at(1)), nullptr);
  const auto place = ahead.lookahead.find_open(ahead.lookahead.use_at(3));
  ASSERT_NE(place, nullptr);
  EXPECT_EQ(place->position(), 3u);
  EXPECT_EQ(place->index(), 1u);
  EXPECT_EQ(place->sample(), 3u);
  EXPECT_EQ(&place->contents(), &contents);
  SampleUse other = ahead.lookahead.use_at(3);
  ++other.walk;
  EXPECT_EQ(ahead.lookahead.find_open(other), nullptr) << "a sample of another epoch";
}

TEST_F(ChunkLookaheadTest, a_batch_is_not_closed_while_something_is_handed_to_it) {
  letters.add_sample(0, 0);
  TestLookahead ahead(*letters.source, plan);
  BatchContents contents;
  ahead.lookahead.open_batch({0, 1}, contents);
  auto place = ahead.lookahead.find_open(ahead.lookahead.use_at(0));
  ASSERT_NE(place, nullptr);
  std::atomic<bool> is_closed = false;
  std::jthread closing([&] {
    ahead.lookahead.close_batch({0, 1});
    is_closed = true;
  });
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(is_closed);
    std::this_thread::yield();
  }
  place.reset();
  closing.join();
  EXPECT_EQ(ahead.lookahead.find_open(ahead.lookahead.use_at(0)), nullptr);
}

}  // namespace
}  // namespace penstock
