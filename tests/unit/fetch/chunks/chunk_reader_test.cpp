#include "fetch/chunks/chunk_reader.h"

#include <gtest/gtest.h>

#include "plan/field_plan.h"
#include "support/chunked_letters.h"
#include "support/memory_cache.h"
#include "support/test_lookahead.h"
#include "support/test_worker.h"

namespace penstock {
namespace {

using Stored = ChunkedLetters::Stored;

class ChunkReaderTest : public testing::Test {
 protected:
  void open(Stored stored, std::size_t reads_ahead = 0) {
    letters = std::make_unique<ChunkedLetters>(stored, reads_ahead);
    reader = std::make_unique<ChunkReader>(*letters->source, worker.scratch, worker.clock, nullptr);
  }
  // The stored bytes of the chunk, "missing", or what went wrong.
  std::string text(const ChunkId& chunk) {
    const auto stored = reader->read(chunk);
    std::string text = !stored              ? stored.error().describe()
                       : stored->is_missing ? "missing"
                                            : std::string(text_of(stored->bytes));
    reader->end_chunk();
    return text;
  }

  TestWorker worker;
  std::unique_ptr<ChunkedLetters> letters;
  std::unique_ptr<ChunkReader> reader;
};

TEST_F(ChunkReaderTest, reads_a_chunk_and_says_from_what) {
  open(Stored::kPlain);
  letters->put_all();
  EXPECT_EQ(text(ChunkedLetters::kTopRight), "defjkl");
  EXPECT_EQ(reader->where().uri, "z/c/0/1");
  EXPECT_EQ(reader->where().length, 6);
  EXPECT_TRUE(reader->version() == *letters->store->stat("z/c/0/1"));
}

TEST_F(ChunkReaderTest, a_chunk_that_is_not_stored_is_no_error) {
  open(Stored::kPlain);
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "missing");
  open(Stored::kShard);
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "missing") << "nor is a shard";
}

TEST_F(ChunkReaderTest, a_chunk_that_its_shard_does_not_have_is_missing) {
  open(Stored::kShard);
  letters->put_shard({"abcghi"});
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "abcghi");
  EXPECT_EQ(text(ChunkedLetters::kBottomRight), "missing");
}

TEST_F(ChunkReaderTest, a_part_of_a_plain_chunk_is_read_without_the_rest) {
  open(Stored::kPlain);
  letters->put_all();
  std::vector<std::byte> part(2);
  const auto stored = reader->read_part(ChunkedLetters::kTopLeft, 3, part);
  ASSERT_TRUE(stored && !stored->is_missing);
  EXPECT_EQ(text_of(part), "gh");
  EXPECT_EQ(reader->where().offset, 3);
}

TEST_F(ChunkReaderTest, a_shard_that_changed_forgets_its_index) {
  open(Stored::kShard);
  letters->put_shard({"abcghi", "defjkl"});
  EXPECT_EQ(text(ChunkedLetters::kTopRight), "defjkl");
  letters->put_shard({"ABCGHI", "DEFJKL", "MNOSTU"});
  const auto changed = reader->read(ChunkedLetters::kTopRight);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kChanged);
  EXPECT_EQ(text(ChunkedLetters::kTopRight), "DEFJKL");
  EXPECT_EQ(text(ChunkedLetters::kBottomLeft), "MNOSTU");
}

TEST_F(ChunkReaderTest, the_index_of_a_shard_is_read_once) {
  open(Stored::kShard);
  letters->put_shard({"abcghi", "defjkl"});
  text(ChunkedLetters::kTopLeft);
  const int read = letters->store->counts().read;
  text(ChunkedLetters::kTopRight);
  EXPECT_EQ(letters->store->counts().read, read + 1);
}

TEST_F(ChunkReaderTest, a_chunk_is_served_without_the_store_once_it_is_cached) {
  open(Stored::kGzip);
  letters->put(ChunkedLetters::kTopLeft, "some stored bytes");
  const SamplePlan plan = *plan_fields(letters->source, {});
  const SampleCache cache(memory_cache(false), plan, CacheForm::kEncoded);
  reader = std::make_unique<ChunkReader>(*letters->source, worker.scratch, worker.clock, &cache);
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "some stored bytes");
  const auto after = letters->store->counts();
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "some stored bytes");
  EXPECT_EQ(letters->store->counts(), after);
  EXPECT_TRUE(reader->version() == *letters->store->stat("z/c/0/0"));
}

TEST_F(ChunkReaderTest, a_cached_chunk_of_an_object_that_changed_is_read_again) {
  open(Stored::kGzip);
  letters->put(ChunkedLetters::kTopLeft, "old");
  const SamplePlan plan = *plan_fields(letters->source, {});
  SampleCache cache(memory_cache(), plan, CacheForm::kEncoded);
  reader = std::make_unique<ChunkReader>(*letters->source, worker.scratch, worker.clock, &cache);
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "old");
  letters->put(ChunkedLetters::kTopLeft, "new");
  cache.start_epoch(1);
  EXPECT_EQ(text(ChunkedLetters::kTopLeft), "new");
}

TEST_F(ChunkReaderTest, what_was_read_ahead_is_handed_over_and_not_read_again) {
  for (const Stored stored : {Stored::kPlain, Stored::kShard}) {
    open(stored, 8);
    if (stored == Stored::kPlain)
      letters->put_all();
    else
      letters->put_shard({"abcghi", "defjkl"});
    letters->add_sample(0, 0);
    letters->add_sample(0, 3);
    TestLookahead ahead(*letters->source,
                        {.decoded_chunk_bytes = 1 << 20, .ahead_bytes = 4 << 20, .samples_ahead = 64});
    reader->turn_to({.lookahead = &ahead.lookahead});
    const auto planned = letters->store->counts();
    EXPECT_EQ(text(ChunkedLetters::kTopLeft), "abcghi");
    EXPECT_EQ(text(ChunkedLetters::kTopRight), "defjkl");
    EXPECT_EQ(letters->store->counts(), planned);
    EXPECT_FALSE(reader->reads_parts()) << "whole chunks are read ahead";
    EXPECT_EQ(text(ChunkedLetters::kBottomLeft), stored == Stored::kPlain ? "mnostu" : "missing") << "not planned";
    reader->turn_to({});
  }
}

}  // namespace
}  // namespace penstock
