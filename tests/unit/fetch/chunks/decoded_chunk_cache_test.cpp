#include "fetch/chunks/decoded_chunk_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "support/counting_allocator.h"

namespace penstock {
namespace {

using Kind = ChunkClaim::Kind;
constexpr ChunkId kA{0, 1}, kB{0, 2}, kC{0, 3};

class DecodedChunkCacheTest : public testing::Test {
 protected:
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(1000);
  DecodedChunkCache decoded_chunks{ledger, 200};  // two chunks of 100 bytes

  Kind claim(std::uint64_t position, ChunkId chunk, bool is_direct = false) {
    const auto got = decoded_chunks.claim(position, chunk, {100, is_direct ? 100 : ChunkNeed::kImpossible, is_direct});
    if (!got) return Kind::kBusy;
    if (got->kind == Kind::kDecode) {
      std::memset(got->bytes.data(), static_cast<int>(chunk.number), got->bytes.size());
      decoded_chunks.publish(chunk);
    }
    if (got->kind == Kind::kReady) {
      EXPECT_EQ(got->bytes[0], std::byte(chunk.number));
    }
    if (got->kind == Kind::kDecode || got->kind == Kind::kReady) decoded_chunks.release(chunk);
    return got->kind;
  }
};

TEST_F(DecodedChunkCacheTest, a_chunk_is_decoded_once_and_found_again) {
  decoded_chunks.plan(0, std::vector{kA});
  decoded_chunks.plan(1, std::vector{kA});
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(1, kA), Kind::kReady);
  EXPECT_EQ(ledger->used(), 100u);
}

TEST_F(DecodedChunkCacheTest, chunks_are_blocks_of_its_allocator_and_used_alone_where_it_has_none) {
  const auto allocator = std::make_shared<CountingAllocator>();
  {
    DecodedChunkCache cache(ledger, 200, 0, allocator);
    EXPECT_EQ(cache.claim(0, kA, {100})->kind, Kind::kDecode);
    EXPECT_EQ(allocator->blocks, 1);
    allocator->refuses = true;
    EXPECT_EQ(cache.claim(0, kB, {100})->kind, Kind::kAlone);
    EXPECT_EQ(ledger->used(), 100u) << "nothing stays reserved for the block that was refused";
    cache.publish(kA);
    cache.release(kA);
  }
  EXPECT_EQ(allocator->blocks, 0);
  EXPECT_EQ(ledger->used(), 0u);
}

TEST_F(DecodedChunkCacheTest, what_only_one_sample_needs_is_decoded_in_place) {
  decoded_chunks.plan(0, std::vector{kA});
  EXPECT_EQ(claim(0, kA, true), Kind::kAlone);
  decoded_chunks.plan(1, std::vector{kA});
  EXPECT_EQ(claim(0, kA, true), Kind::kDecode) << "another wants it too";
}

TEST_F(DecodedChunkCacheTest, a_part_that_can_be_had_alone_takes_no_place_from_others) {
  for (const ChunkId chunk : {kA, kB, kC}) decoded_chunks.plan(0, std::vector{chunk});
  for (const ChunkId chunk : {kA, kB, kC}) decoded_chunks.plan(1, std::vector{chunk});
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(0, kB), Kind::kDecode);
  EXPECT_EQ(decoded_chunks.claim(0, kC, {100, 10})->kind, Kind::kAlone);
  EXPECT_EQ(claim(1, kA), Kind::kReady);
}

TEST_F(DecodedChunkCacheTest, the_chunk_that_is_wanted_last_goes_first) {
  decoded_chunks.plan(0, std::vector{kA, kB, kC});
  decoded_chunks.plan(5, std::vector{kA});
  decoded_chunks.plan(6, std::vector{kC});
  decoded_chunks.plan(9, std::vector{kB});
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(0, kB), Kind::kDecode);
  decoded_chunks.finish(0, std::vector{kA, kB, kC});
  EXPECT_EQ(claim(0, kC), Kind::kDecode) << "in the place of B";
  EXPECT_EQ(claim(5, kA), Kind::kReady);
  EXPECT_EQ(claim(6, kC), Kind::kReady);
  EXPECT_EQ(claim(9, kB), Kind::kDecode) << "A and C have no further use";
  EXPECT_LE(ledger->used(), 200u);
}

TEST_F(DecodedChunkCacheTest, what_is_wanted_later_than_all_others_does_not_push_them_out) {
  decoded_chunks.plan(0, std::vector{kA, kB, kC});
  decoded_chunks.plan(1, std::vector{kA, kB});
  decoded_chunks.plan(9, std::vector{kC});
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(0, kB), Kind::kDecode);
  decoded_chunks.finish(0, std::vector{kA, kB, kC});
  EXPECT_EQ(claim(0, kC, true), Kind::kAlone);
  EXPECT_EQ(claim(1, kA), Kind::kReady);
}

TEST_F(DecodedChunkCacheTest, without_other_memory_what_is_wanted_last_goes_for_what_is_wanted_now) {
  decoded_chunks.plan(0, std::vector{kA, kB, kC});
  decoded_chunks.plan(1, std::vector{kA});
  decoded_chunks.plan(2, std::vector{kB});
  decoded_chunks.plan(9, std::vector{kC});
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(0, kB), Kind::kDecode);
  EXPECT_EQ(claim(0, kC), Kind::kDecode) << "in the place of B";
  EXPECT_EQ(claim(1, kA), Kind::kReady);
  EXPECT_EQ(claim(2, kB), Kind::kDecode);
}

TEST_F(DecodedChunkCacheTest, a_chunk_that_is_held_stays) {
  decoded_chunks.plan(0, std::vector{kA, kB});
  const auto a = decoded_chunks.claim(0, kA, {100});
  decoded_chunks.publish(kA);
  const auto b = decoded_chunks.claim(0, kB, {100});
  decoded_chunks.publish(kB);
  EXPECT_EQ(claim(7, kC), Kind::kBusy) << "until a worker is done with its chunk";
  const std::uint64_t seen = decoded_chunks.changes();
  decoded_chunks.release(kA);
  EXPECT_NE(decoded_chunks.changes(), seen) << "who waits for memory is woken";
  decoded_chunks.release(kB);
  EXPECT_EQ(claim(7, kC), Kind::kDecode);
}

TEST_F(DecodedChunkCacheTest, a_failure_is_told_to_all_until_the_next_epoch) {
  ASSERT_EQ(decoded_chunks.claim(0, kA, {100})->kind, Kind::kDecode);
  EXPECT_EQ(decoded_chunks.claim(1, kA, {100})->kind, Kind::kBusy);
  decoded_chunks.fail(kA, Error{ErrorCode::kCorrupt, "bad", {}, false});
  decoded_chunks.release(kA);
  EXPECT_EQ(decoded_chunks.claim(1, kA, {100}).error().message, "bad");
  decoded_chunks.start_walk();
  EXPECT_EQ(claim(1, kA), Kind::kDecode);
}

TEST_F(DecodedChunkCacheTest, what_may_pass_is_tried_again) {
  ASSERT_EQ(decoded_chunks.claim(0, kA, {100})->kind, Kind::kDecode);
  decoded_chunks.fail(kA, Error{ErrorCode::kIo, "for now", {}, true});
  EXPECT_EQ(claim(1, kA), Kind::kDecode);
}

TEST_F(DecodedChunkCacheTest, only_what_nothing_planned_before_needs_is_to_be_read) {
  EXPECT_EQ(decoded_chunks.plan(0, std::vector{kA, kB}), (std::vector{kA, kB}));
  EXPECT_EQ(decoded_chunks.plan(1, std::vector{kA, kC}), (std::vector{kC}));
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  decoded_chunks.finish(0, std::vector{kA, kB});
  decoded_chunks.finish(1, std::vector{kA, kC});
  EXPECT_EQ(decoded_chunks.plan(2, std::vector{kA, kB}), (std::vector{kB})) << "A is on the shelf";
}

TEST_F(DecodedChunkCacheTest, a_chunk_larger_than_the_shelf_is_made_alone) {
  EXPECT_EQ(decoded_chunks.claim(0, kA, {201})->kind, Kind::kAlone);
}

TEST_F(DecodedChunkCacheTest, a_chunk_is_handed_to_samples_in_the_making_before_it_goes) {
  decoded_chunks.plan(0, std::vector{kA, kB, kC});
  decoded_chunks.plan(1, std::vector{kB, kC});
  decoded_chunks.plan(2, std::vector{kA});
  decoded_chunks.set_open(0, 2);
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_EQ(claim(0, kB), Kind::kDecode);
  const auto first = decoded_chunks.claim(0, kC, {100});
  ASSERT_EQ(first->kind, Kind::kHandOn);
  EXPECT_EQ(first->chunk, kB) << "which only samples in the making need";
  EXPECT_EQ(first->bytes[0], std::byte(kB.number));
  EXPECT_EQ(decoded_chunks.waiting_for(kB), (std::vector<SampleUse>{1}));
  EXPECT_EQ(decoded_chunks.begin_handing(1, kB), nullptr) << "nobody knows where its elements go";
  const auto made = std::make_shared<OpenSample>();
  EXPECT_EQ(decoded_chunks.begin_handing(1, kB, made), made);
  EXPECT_EQ(decoded_chunks.begin_handing(1, kB), nullptr) << "a second time";
  EXPECT_EQ(decoded_chunks.claim(1, kB, {100})->kind, Kind::kBusy);
  decoded_chunks.end_handing(1, kB, true);
  EXPECT_EQ(decoded_chunks.claim(1, kB, {100})->kind, Kind::kThere);
  decoded_chunks.evict(kB);
  EXPECT_EQ(claim(0, kC), Kind::kDecode) << "in the place of B";
  EXPECT_EQ(decoded_chunks.open(1, nullptr), made) << "its worker goes on with it";
  decoded_chunks.finish(0, std::vector{kA, kB, kC});
  EXPECT_EQ(claim(1, kC), Kind::kReady);
  decoded_chunks.finish(1, std::vector{kB, kC});
  EXPECT_EQ(decoded_chunks.open(1, nullptr), nullptr);
  EXPECT_EQ(claim(2, kA), Kind::kReady);
}

TEST_F(DecodedChunkCacheTest, memory_that_lies_idle_keeps_chunks_until_it_is_asked_for) {
  DecodedChunkCache lent(ledger, 200, 100);
  const auto decode = [&](std::uint64_t position, ChunkId chunk) {
    const auto got = lent.claim(position, chunk, {100});
    if (got->kind == Kind::kDecode) lent.publish(chunk);
    if (got->kind == Kind::kDecode || got->kind == Kind::kReady) lent.release(chunk);
    return got->kind;
  };
  for (const std::uint64_t position : {0, 1, 2}) lent.plan(position, std::vector{kA, kB, kC});
  for (const ChunkId chunk : {kA, kB, kC}) EXPECT_EQ(decode(0, chunk), Kind::kDecode);
  for (const ChunkId chunk : {kA, kB, kC}) EXPECT_EQ(decode(1, chunk), Kind::kReady);
  EXPECT_EQ(ledger->used(), 300u);
  EXPECT_EQ(lent.reduce_loan(10).kind, Kind::kThere);
  EXPECT_EQ(ledger->used(), 200u);
  EXPECT_EQ(decode(2, kA), Kind::kReady);
  lent.restore_loan();
  EXPECT_EQ(decode(2, kC), Kind::kDecode);
  EXPECT_EQ(decode(2, kB), Kind::kReady);
}

TEST_F(DecodedChunkCacheTest, nothing_is_decoded_into_memory_that_may_be_asked_for) {
  DecodedChunkCache lent(ledger, 200, 100);
  EXPECT_EQ(lent.claim(0, kA, {100})->kind, Kind::kDecode);
  EXPECT_EQ(lent.claim(0, kB, {100})->kind, Kind::kDecode);
  EXPECT_EQ(lent.claim(0, kC, {100})->kind, Kind::kBusy);
  lent.publish(kA);
  EXPECT_EQ(lent.claim(0, kC, {100})->kind, Kind::kDecode);
}

TEST_F(DecodedChunkCacheTest, who_asks_for_lent_memory_hands_on_what_is_in_it) {
  DecodedChunkCache lent(ledger, 100, 100);
  for (const std::uint64_t position : {0, 1}) lent.plan(position, std::vector{kA, kB});
  lent.set_open(0, 2);
  for (const ChunkId chunk : {kA, kB}) {
    ASSERT_EQ(lent.claim(0, chunk, {100})->kind, Kind::kDecode);
    lent.publish(chunk);
    lent.release(chunk);
  }
  const ChunkClaim first = lent.reduce_loan(100);
  ASSERT_EQ(first.kind, Kind::kHandOn);
  EXPECT_EQ(lent.waiting_for(first.chunk), (std::vector<SampleUse>{1}));
  lent.evict(first.chunk);
  EXPECT_EQ(lent.reduce_loan(0).kind, Kind::kThere);
  EXPECT_EQ(ledger->used(), 100u);
}

TEST_F(DecodedChunkCacheTest, what_could_not_be_handed_over_is_claimed_as_usual) {
  decoded_chunks.plan(0, std::vector{kA});
  decoded_chunks.plan(1, std::vector{kA});
  decoded_chunks.set_open(0, 2);
  EXPECT_EQ(claim(0, kA), Kind::kDecode);
  EXPECT_NE(decoded_chunks.begin_handing(1, kA, std::make_shared<OpenSample>()), nullptr);
  decoded_chunks.end_handing(1, kA, false);
  EXPECT_EQ(claim(1, kA), Kind::kReady);
}

TEST_F(DecodedChunkCacheTest, nothing_is_handed_to_a_sample_that_is_finished) {
  decoded_chunks.plan(1, std::vector{kA});
  decoded_chunks.set_open(0, 2);
  decoded_chunks.finish(1, std::vector{kA});
  EXPECT_EQ(decoded_chunks.begin_handing(1, kA, std::make_shared<OpenSample>()), nullptr);
  EXPECT_EQ(decoded_chunks.open(1, nullptr), nullptr);
}

// How often chunks are decoded if, when memory is short, the one goes whose next use is farthest off.
std::size_t optimal_decodes(const std::vector<std::vector<ChunkId>>& samples, std::size_t places) {
  std::vector<ChunkId> uses, held;
  for (const auto& sample : samples) uses.insert(uses.end(), sample.begin(), sample.end());
  std::size_t decodes = 0;
  for (std::size_t now = 0; now < uses.size(); ++now) {
    if (std::ranges::find(held, uses[now]) != held.end()) continue;
    ++decodes;
    if (held.size() == places)
      held.erase(std::ranges::max_element(held, {}, [&](const ChunkId& chunk) {
        return std::find(uses.begin() + static_cast<std::ptrdiff_t>(now), uses.end(), chunk) - uses.begin();
      }));
    held.push_back(uses[now]);
  }
  return decodes;
}

TEST(DecodedChunkCache, no_rule_of_replacement_decodes_fewer_chunks) {
  for (std::uint64_t number = 0; number < 300; ++number) {
    Draws draws(7, 0, number);
    const std::size_t places = 1 + draws.below(6);
    const std::uint64_t chunks = 1 + draws.below(12);
    std::vector<std::vector<ChunkId>> samples(1 + draws.below(60));
    DecodedChunkCache decoded_chunks(std::make_shared<Ledger>(places * 100), places * 100);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (std::uint64_t chunk = 0; chunk < chunks; ++chunk)
        if (draws.chance(0.3)) samples[i].push_back({0, chunk});
      decoded_chunks.plan(i, samples[i]);
    }
    std::size_t decodes = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (const ChunkId& chunk : samples[i]) {
        const auto claim = decoded_chunks.claim(i, chunk, {100});
        ASSERT_TRUE(claim->kind == Kind::kDecode || claim->kind == Kind::kReady);
        if (claim->kind == Kind::kDecode) {
          ++decodes;
          decoded_chunks.publish(chunk);
        }
        decoded_chunks.release(chunk);
      }
    // Chunks of one sample are taken in any order, so that the count can be lower than for this one.
    EXPECT_LE(decodes, optimal_decodes(samples, places)) << "case " << number;
  }
}

}  // namespace
}  // namespace penstock
