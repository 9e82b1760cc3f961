#include "sample/chunks/chunk_decoder.h"

#include <gtest/gtest.h>

#include "plan/field_plan.h"
#include "support/chunked_letters.h"
#include "support/make_gzip.h"
#include "support/memory_cache.h"
#include "support/test_lookahead.h"
#include "support/test_worker.h"

namespace penstock {
namespace {

using Stored = ChunkedLetters::Stored;

class ChunkDecoderTest : public testing::Test {
 protected:
  void open(Stored stored) {
    letters = std::make_unique<ChunkedLetters>(stored);
    letters->add_sample(0, 0);
    ahead = std::make_unique<TestLookahead>(*letters->source,
                                            LookaheadPlan{.decoded_chunk_bytes = 1 << 20, .samples_ahead = 64});
    decoder = std::make_unique<ChunkDecoder>(*letters->source, worker.scratch, worker.clock, nullptr);
    decoder->turn_to({.lookahead = &ahead->lookahead});
  }
  // The decoded chunk, or what went wrong.
  std::string text(const ChunkId& chunk) {
    std::vector<std::byte> out(6);
    const Status decoded = decoder->decode(chunk, out);
    decoder->end_chunk();
    return decoded ? std::string(text_of(out)) : decoded.error().describe();
  }
  const ChunkCounters& counters() { return ahead->memory->counters; }

  TestWorker worker;
  std::unique_ptr<ChunkedLetters> letters;
  std::unique_ptr<TestLookahead> ahead;
  std::unique_ptr<ChunkDecoder> decoder;
};

TEST_F(ChunkDecoderTest, decodes_and_counts) {
  open(Stored::kGzip);
  letters->store->put("z/c/0/0", gzip("abcghi"));
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "abcghi");
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "abcghi");
  EXPECT_FALSE(decoder->was_missing());
  EXPECT_EQ(counters().decoded, 2u);
  EXPECT_EQ(counters().decoded_bytes, 12u);
  EXPECT_EQ(ahead->memory->stats().distinct, 1u) << "the same one twice";
}

TEST_F(ChunkDecoderTest, a_missing_chunk_is_the_fill_value_and_counted) {
  open(Stored::kGzip);
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "......");
  EXPECT_TRUE(decoder->was_missing());
  EXPECT_EQ(counters().missing, 1u);
  EXPECT_EQ(counters().decoded, 0u);
}

TEST_F(ChunkDecoderTest, a_part_is_the_same_as_that_part_of_the_whole) {
  open(Stored::kPlain);
  letters->put(ChunkedLetters::kTopLeft, "abcghi");
  auto part = decoder->decode_part(ChunkedLetters::kTopLeft, 2, 3);
  ASSERT_TRUE(part) << part.error().describe();
  EXPECT_EQ(text_of(*part), "cgh");
  decoder->end_chunk();
  part = decoder->decode_part(ChunkedLetters::kTopRight, 2, 3);
  ASSERT_TRUE(part) << part.error().describe();
  EXPECT_EQ(text_of(*part), "...");
  EXPECT_TRUE(decoder->was_missing());
}

TEST_F(ChunkDecoderTest, a_plain_chunk_is_read_to_where_it_belongs_without_a_copy) {
  for (const Stored stored : {Stored::kPlain, Stored::kShard}) {
    open(stored);
    if (stored == Stored::kPlain)
      letters->put(ChunkedLetters::kTopLeft, "abcghi");
    else
      letters->put_shard({"abcghi"});
    EXPECT_EQ(text(ChunkedLetters::kTopLeft), "abcghi");
    EXPECT_EQ(counters().decoded_bytes, 6u);
    EXPECT_EQ(worker.ledger->peak(), 0u) << "the scratch was not needed";
  }
}

TEST_F(ChunkDecoderTest, a_plain_chunk_of_another_size_is_an_error) {
  open(Stored::kPlain);
  letters->put(ChunkedLetters::kTopLeft, "abcgh");
  letters->put(ChunkedLetters::kTopRight, "defjklm");
  EXPECT_NE(text(ChunkedLetters::kTopLeft).find("z/c/0/0"), std::string::npos) << text(ChunkedLetters::kTopLeft);
  EXPECT_NE(text(ChunkedLetters::kTopRight).find("z/c/0/1"), std::string::npos) << text(ChunkedLetters::kTopRight);
}

TEST_F(ChunkDecoderTest, a_plain_chunk_is_cached_as_it_is_stored) {
  open(Stored::kPlain);
  letters->put(ChunkedLetters::kTopLeft, "abcghi");
  const SamplePlan plan = *plan_fields(letters->source, {});
  const SampleCache cache(memory_cache(false), plan, CacheForm::kEncoded);
  decoder = std::make_unique<ChunkDecoder>(*letters->source, worker.scratch, worker.clock, &cache);
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "abcghi");
  const auto after = letters->store->counts();
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "abcghi");
  EXPECT_EQ(letters->store->counts(), after) << "the second one comes from the cache";
}

TEST_F(ChunkDecoderTest, an_error_names_the_chunk_and_its_object) {
  open(Stored::kGzip);
  letters->put(ChunkedLetters::kBottomRight, "no gzip");
  std::vector<std::byte> out(6);
  const Status decoded = decoder->decode(ChunkedLetters::kBottomRight, out);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().where.uri, "z/c/1/1");
  EXPECT_NE(decoded.error().message.find("chunk 1.1"), std::string::npos) << decoded.error().message;
}

TEST_F(ChunkDecoderTest, what_a_chunk_takes_is_measured_where_it_is_stored) {
  open(Stored::kGzip);
  EXPECT_EQ(decoder->measure(ChunkedLetters::kTopLeft).error().code, ErrorCode::kNotFound);
  letters->store->put("z/c/0/0", gzip("abcghi"));
  const auto cost = decoder->measure(ChunkedLetters::kTopLeft);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->decoded_bytes, 6);
  EXPECT_EQ(cost->encoded_bytes, static_cast<double>(gzip("abcghi").size()));
}

}  // namespace
}  // namespace penstock
