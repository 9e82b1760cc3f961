#include "sample/chunks/chunk_assembler.h"

#include <gtest/gtest.h>

#include <thread>

#include "plan/field_plan.h"
#include "support/chunked_letters.h"
#include "support/make_gzip.h"
#include "support/memory_cache.h"
#include "support/test_batch.h"
#include "support/test_lookahead.h"
#include "support/test_worker.h"

namespace penstock {
namespace {

using Stored = ChunkedLetters::Stored;

constexpr std::uint64_t kChunkBytes = 6;

LookaheadPlan plan_for(std::uint64_t chunks_in_memory) {
  return {.decoded_chunk_bytes = chunks_in_memory * kChunkBytes, .samples_ahead = 64};
}

void put_gzipped(const ChunkedLetters& letters) {
  letters.store->put("z/c/0/0", gzip("abcghi"));
  letters.store->put("z/c/0/1", gzip("defjkl"));
  letters.store->put("z/c/1/0", gzip("mnostu"));
  letters.store->put("z/c/1/1", gzip("pqrvwx"));
}

// A worker that puts samples together.
struct Assembler {
  explicit Assembler(const ChunkedLetters& letters_, Lookahead* lookahead_ = nullptr,
                     const SampleCache* cache = nullptr)
      : letters(letters_),
        lookahead(lookahead_),
        assembler(*letters.source, worker.budget, worker.clock, cache) {
    assembler.turn_to({.lookahead = lookahead});
  }
  // The letters of the sample, or what went wrong.
  std::string text(std::uint64_t sample) {
    std::string memory;
    const SampleBoxes boxes = letters.boxes_of(sample, memory);
    assembler.begin_sample();
    const Status filled = assembler.fill(sample, boxes);
    if (lookahead != nullptr) lookahead->finish(sample, assembler.chunks());
    return filled ? memory : filled.error().describe();
  }

  const ChunkedLetters& letters;
  Lookahead* const lookahead;
  TestWorker worker;
  ChunkAssembler assembler;
};

TEST(ChunkAssembler, puts_a_sample_together_without_looking_ahead) {
  for (const Stored stored : {Stored::kPlain, Stored::kGzip}) {
    ChunkedLetters letters(stored);
    stored == Stored::kPlain ? letters.put_all() : put_gzipped(letters);
    letters.add_sample(1, 2);
    letters.add_sample(2, 3);
    Assembler worker(letters);
    EXPECT_EQ(worker.text(0), "ijkopq");
    EXPECT_EQ(worker.assembler.chunks().size(), 4u);
    EXPECT_EQ(worker.text(1), "pqrvwx");
    EXPECT_EQ(worker.assembler.chunks().size(), 1u);
  }
}

TEST(ChunkAssembler, two_samples_that_share_a_chunk_decode_it_once) {
  ChunkedLetters letters(Stored::kGzip);
  put_gzipped(letters);
  letters.add_sample(0, 0);
  letters.add_sample(0, 1);
  TestLookahead ahead(*letters.source, plan_for(4));
  Assembler worker(letters, &ahead.lookahead);
  EXPECT_EQ(worker.text(0), "abcghi");
  EXPECT_EQ(worker.text(1), "bcdhij");
  EXPECT_EQ(ahead.memory->counters.decoded, 2u) << "the right one for the second sample alone";
  EXPECT_EQ(ahead.memory->counters.reused, 1u);
}

TEST(ChunkAssembler, a_chunk_that_only_one_sample_needs_is_decoded_in_the_slot) {
  ChunkedLetters letters(Stored::kGzip);
  put_gzipped(letters);
  letters.add_sample(0, 0);
  letters.add_sample(2, 3);
  TestLookahead ahead(*letters.source, plan_for(4));
  Assembler worker(letters, &ahead.lookahead);
  EXPECT_EQ(worker.text(0), "abcghi");
  EXPECT_EQ(worker.text(1), "pqrvwx");
  EXPECT_EQ(ahead.memory->counters.decoded, 2u);
  EXPECT_EQ(ahead.ledger->peak(), 0u) << "no memory for decoded chunks was used";
}

TEST(ChunkAssembler, missing_chunks_have_the_fill_value_and_are_counted) {
  ChunkedLetters letters;
  letters.put(ChunkedLetters::kTopLeft, "abcghi");
  letters.add_sample(0, 1);
  letters.add_sample(0, 1);
  TestLookahead ahead(*letters.source, plan_for(4));
  Assembler worker(letters, &ahead.lookahead);
  EXPECT_EQ(worker.text(0), "bc.hi.");
  EXPECT_EQ(worker.text(1), "bc.hi.");
  EXPECT_EQ(ahead.memory->counters.missing, 1u) << "found in memory the second time";
  EXPECT_EQ(ahead.memory->counters.decoded, 1u);
}

TEST(ChunkAssembler, damage_is_found_once_and_told_to_all_samples_of_the_epoch) {
  ChunkedLetters letters(Stored::kGzip);
  letters.put(ChunkedLetters::kTopLeft, "no gzip");
  letters.add_sample(0, 0);
  letters.add_sample(0, 0);
  TestLookahead ahead(*letters.source, plan_for(4));
  Assembler worker(letters, &ahead.lookahead);
  const std::string error = worker.text(0);
  EXPECT_NE(error.find("z/c/0/0"), std::string::npos) << error;
  const auto after = letters.store->counts();
  EXPECT_EQ(worker.text(1), error);
  EXPECT_EQ(letters.store->counts(), after);
  put_gzipped(letters);
  ahead.start();
  EXPECT_EQ(worker.text(0), "abcghi") << "it is tried again in the next epoch";
}

TEST(ChunkAssembler, before_a_chunk_leaves_the_memory_it_is_handed_to_all_samples_in_the_making) {
  ChunkedLetters letters(Stored::kGzip, 0, {4, 6});
  put_gzipped(letters);
  letters.add_sample(0, 0);
  letters.add_sample(0, 0);
  TestLookahead ahead(*letters.source, plan_for(1), 2);
  BatchContents contents;
  ahead.lookahead.open_batch({0, 2}, contents);
  Assembler worker(letters, &ahead.lookahead);
  std::string memory;
  worker.assembler.open_others_by([&](const SampleUse&) {
    auto open = std::make_shared<OpenSample>();
    open->boxes = letters.boxes_of(1, memory);
    return open;
  });
  const std::string whole = "abcdefghijklmnopqrstuvwx";
  EXPECT_EQ(worker.text(0), whole);
  const auto open = ahead.lookahead.decoded_chunks().open(ahead.lookahead.use_at(1), nullptr);
  ASSERT_NE(open, nullptr) << "the second sample was begun for it";
  ASSERT_TRUE(worker.assembler.fill(1, open->boxes));
  EXPECT_EQ(memory, whole);
  EXPECT_EQ(ahead.memory->counters.decoded, 4u) << "each once, though only one of them fits";
  ahead.lookahead.finish(1, worker.assembler.chunks());
  ahead.lookahead.close_batch({0, 2});
}

TEST(ChunkAssembler, workers_that_share_chunks_decode_each_of_them_once) {
  ChunkedLetters letters(Stored::kGzip);
  put_gzipped(letters);
  constexpr std::uint64_t kSamples = 64;
  for (std::uint64_t i = 0; i < kSamples; ++i) letters.add_sample(1, 2);
  TestLookahead ahead(*letters.source, plan_for(4));
  std::atomic<std::uint64_t> next = 0;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i)
      workers.emplace_back([&] {
        Assembler worker(letters, &ahead.lookahead);
        for (std::uint64_t sample = next++; sample < kSamples; sample = next++)
          if (worker.text(sample) != "ijkopq") ++wrong;
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ahead.memory->counters.decoded, 4u);
}

TEST(ChunkAssembler, decoded_chunks_that_are_cached_are_served_without_the_store) {
  ChunkedLetters letters(Stored::kGzip);
  put_gzipped(letters);
  letters.add_sample(1, 2);
  const SamplePlan plan = *plan_fields(letters.source, {});
  SampleCache cache(memory_cache(), plan, CacheForm::kDecoded);
  Assembler worker(letters, nullptr, &cache);
  EXPECT_EQ(worker.text(0), "ijkopq");
  const auto after = letters.store->counts();
  EXPECT_EQ(worker.text(0), "ijkopq");
  EXPECT_EQ(letters.store->counts().opened, after.opened);
  letters.store->put("z/c/0/0", gzip("ABCGHI"));
  cache.start_epoch(1);
  EXPECT_EQ(worker.text(0), "Ijkopq") << "that of a changed object is not";
}

TEST(ChunkAssembler, the_first_chunk_that_is_stored_is_measured) {
  ChunkedLetters letters;
  letters.add_sample(1, 2);
  Assembler worker(letters);
  const std::size_t field = 0;
  EXPECT_EQ(worker.assembler.measure_first(0, std::span(&field, 1)).error().code, ErrorCode::kNotFound);
  letters.put(ChunkedLetters::kBottomLeft, "mnostu");
  EXPECT_EQ(worker.assembler.measure_first(0, std::span(&field, 1))->decoded_bytes, 6);
}

}  // namespace
}  // namespace penstock
