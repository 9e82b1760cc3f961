#include "source/zarr/chunks/zarr_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/make_shard.h"
#include "support/zarr_store.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Counts reads, and may have its objects changed between them.
class ShardStore final : public Store {
 public:
  Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& room) const override {
    reads.fetch_add(1);
    return objects->read(wanted, room);
  }
  Result<std::unique_ptr<Object>> open(const std::string& key) const override { return objects->open(key); }
  Result<ObjectVersion> stat(const std::string& key) const override { return objects->stat(key); }
  StoreTraits traits() const override { return objects->traits(); }
  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    return objects->list_pages(key, options, take);
  }

  std::shared_ptr<MemoryStore> objects = std::make_shared<MemoryStore>();
  mutable std::atomic<int> reads = 0;
};

const std::string kLittle = R"({"name": "bytes", "configuration": {"endian": "little"}})";

std::string sharding(const std::string& chunk_shape, const std::string& codecs,
                     const std::string& location = "end") {
  return R"({"name": "sharding_indexed", "configuration": {"chunk_shape": )" + chunk_shape +
         R"(, "codecs": [)" + codecs + R"(], "index_codecs": [)" + kLittle +
         R"(, {"name": "crc32c"}], "index_location": ")" + location + "\"}}";
}

// One byte each, so that a chunk can be a text. Shards of 4 x 4.
std::string letters(const std::string& codecs, const std::string& shape = "[8, 6]") {
  return v3_text({{"data_type", "\"uint8\""},
                  {"shape", shape},
                  {"fill_value", "46"},
                  {"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [4, 4]}})"},
                  {"codecs", "[" + codecs + "]"}});
}

struct Opened {
  std::shared_ptr<ShardStore> store;
  ChunkedArrayPtr array;
};

Opened open_letters(const std::string& metadata, MissingChunk missing = MissingChunk::kFillIfGone) {
  Opened opened{std::make_shared<ShardStore>(), nullptr};
  opened.store->objects->put("z/zarr.json", bytes_of(metadata));
  const auto node = ZarrNode::open(opened.store, "z", {missing});
  if (!node) throw std::runtime_error(node.error().describe());
  const auto array = node->array("");
  if (!array) throw std::runtime_error(array.error().describe());
  opened.array = array->data;
  opened.store->reads = 0;
  return opened;
}

std::string read_text(const Opened& opened, const ObjectRead& read) {
  std::string text;
  const auto bytes = opened.store->read(read, [&](std::size_t size) -> Result<MutableBytes> {
    text.resize(size);
    return MutableBytes(reinterpret_cast<std::byte*>(text.data()), size);
  });
  return bytes ? text : bytes.error().describe();
}

// The stored bytes of a chunk; "missing", or what went wrong.
std::string chunk_text(const Opened& opened, std::uint64_t chunk) {
  const auto place = opened.array->location(chunk);
  if (!place) return place.error().describe();
  return place->is_missing ? "missing" : read_text(opened, place->read);
}

using Chunks = std::vector<std::optional<std::vector<std::byte>>>;

Chunks texts(const std::vector<std::string>& chunks) {
  Chunks out;
  for (const std::string& chunk : chunks)
    out.push_back(chunk.empty() ? std::nullopt : std::optional(bytes_of(chunk)));
  return out;
}

TEST(ZarrShards, chunks_are_those_within_the_shards) {
  for (const std::string location : {"start", "end"}) {
    const Opened opened = open_letters(letters(sharding("[2, 2]", kLittle, location)));
    opened.store->objects->put("z/c/0/0",
                               make_shard(texts({"aaaa", "bbbb", "", "dddd"}), {location == "start"}));
    opened.store->objects->put("z/c/1/1", make_shard(texts({"eeee", "", "gggg", ""}), {location == "start"}));
    const ChunkedArray& array = *opened.array;
    EXPECT_EQ(array.chunk_shape(), (Shape{2, 2}));
    EXPECT_EQ(array.grid(), (Shape{4, 3}));
    EXPECT_TRUE(array.is_plain());
    EXPECT_EQ(chunk_text(opened, 0), "aaaa");
    EXPECT_EQ(chunk_text(opened, 1), "bbbb");
    EXPECT_EQ(chunk_text(opened, 2), "missing") << "a shard that is not there";
    EXPECT_EQ(chunk_text(opened, 3), "missing");
    EXPECT_EQ(chunk_text(opened, 4), "dddd");
    EXPECT_EQ(chunk_text(opened, 8), "eeee");
    EXPECT_EQ(chunk_text(opened, 11), "gggg");
    // Five chunks, and the indexes of three shards, one of them missing.
    EXPECT_EQ(opened.store->reads, 5 + 3);
    EXPECT_EQ(array.location(12).error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(ZarrShards, indexes_can_be_read_by_others) {
  const Opened opened = open_letters(letters(sharding("[2, 2]", kLittle)));
  opened.store->objects->put("z/c/0/0", make_shard(texts({"aaaa", "bbbb", "", "dddd"})));
  const auto index = opened.array->index_read(4);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->key, "z/c/0/0");
  EXPECT_EQ(index->range, (ByteRange{0, 68, true}));
  EXPECT_EQ(index->max_bytes, 68u);
  std::vector<std::byte> memory;
  const auto room = [&](std::size_t size) -> Result<MutableBytes> {
    memory.resize(size);
    return MutableBytes(memory);
  };
  ASSERT_TRUE(opened.array->add_index(4, opened.store->read(*index, room)));
  EXPECT_FALSE(opened.array->index_read(4));
  EXPECT_FALSE(opened.array->index_read(0)) << "the same shard";
  EXPECT_TRUE(opened.array->index_read(2));
  const int reads = opened.store->reads;
  const auto place = opened.array->location(4);
  ASSERT_TRUE(place);
  EXPECT_EQ(opened.store->reads, reads);
  EXPECT_EQ(place->read.range, (ByteRange{8, 4, false}));
  EXPECT_EQ(place->read.max_bytes, 4u);
  EXPECT_EQ(place->read.version, *opened.store->stat(place->read.key));
  EXPECT_EQ(place->read.version->size, 12u + 68);
  // Late answers change nothing, whatever they are.
  EXPECT_TRUE(opened.array->add_index(4, fail(ErrorCode::kIo, "late")));
  EXPECT_EQ(chunk_text(opened, 0), "aaaa");
}

TEST(ZarrShards, a_missing_shard_is_an_answer_and_other_failures_are_not) {
  const Opened opened = open_letters(letters(sharding("[2, 2]", kLittle)));
  const auto failed = opened.array->add_index(0, fail(ErrorCode::kIo, "broken"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  EXPECT_EQ(failed.error().where.uri, "z/c/0/0");
  EXPECT_TRUE(opened.array->index_read(0));
  ASSERT_TRUE(opened.array->add_index(0, fail(ErrorCode::kNotFound, "none")));
  EXPECT_FALSE(opened.array->index_read(1));
  EXPECT_EQ(chunk_text(opened, 1), "missing");
  EXPECT_EQ(opened.store->reads, 0);
}

TEST(ZarrShards, a_shard_that_changed_is_noticed_and_read_anew) {
  const Opened opened = open_letters(letters(sharding("[2, 2]", kLittle)));
  opened.store->objects->put("z/c/0/0", make_shard(texts({"aaaa", "bbbb", "", ""})));
  EXPECT_EQ(chunk_text(opened, 0), "aaaa");
  opened.store->objects->put("z/c/0/0", make_shard(texts({"AAAA", "BBBB", "CCCC", ""})));
  EXPECT_THAT(chunk_text(opened, 1), HasSubstr("changed"));
  opened.array->discard_index(1);
  EXPECT_EQ(chunk_text(opened, 1), "BBBB");
  EXPECT_EQ(chunk_text(opened, 3), "CCCC");
}

TEST(ZarrShards, damaged_indexes_are_errors_that_name_the_shard) {
  const Opened opened = open_letters(letters(sharding("[2, 2]", kLittle)));
  auto shard = make_shard(texts({"aaaa", "bbbb", "", ""}));
  shard[10] ^= std::byte{4};
  opened.store->objects->put("z/c/0/0", shard);
  EXPECT_EQ(chunk_text(opened, 0), "shard index: wrong checksum: z/c/0/0 @ 8+68");
  opened.store->objects->put("z/c/0/0", bytes_of("short"));
  EXPECT_EQ(opened.array->location(0).error().code, ErrorCode::kTruncated);
  auto wrong = bytes_of("aaaabbbb");
  const auto index = make_index({{0, 4}, {4, 3}, kEmptyEntry, kEmptyEntry});
  wrong.insert(wrong.end(), index.begin(), index.end());
  opened.store->objects->put("z/c/0/0", wrong);
  EXPECT_THAT(chunk_text(opened, 0), HasSubstr("chunk 0.1 of the shard: 3 bytes, a chunk has 4 to 4"))
      << "not compressed, a chunk has one size";
}

TEST(ZarrShards, shards_in_shards) {
  for (const bool outer_start : {false, true})
    for (const bool inner_start : {false, true}) {
      const Opened opened =
          open_letters(letters(sharding("[2, 4]", sharding("[2, 1]", kLittle, inner_start ? "start" : "end"),
                                        outer_start ? "start" : "end")));
      EXPECT_EQ(opened.array->chunk_shape(), (Shape{2, 1}));
      const auto first = make_shard(texts({"aa", "", "cc", "dd"}), {inner_start});
      const auto second = make_shard(texts({"", "ff", "", ""}), {inner_start});
      opened.store->objects->put("z/c/0/0", make_shard({first, second}, {outer_start}));
      opened.store->objects->put("z/c/1/0", make_shard({std::nullopt, second}, {outer_start}));
      EXPECT_EQ(chunk_text(opened, 0), "aa");
      EXPECT_EQ(opened.store->reads, 3);
      EXPECT_EQ(chunk_text(opened, 1), "missing");
      EXPECT_EQ(chunk_text(opened, 3), "dd");
      EXPECT_EQ(opened.store->reads, 4);
      EXPECT_EQ(chunk_text(opened, 7), "ff");
      EXPECT_EQ(chunk_text(opened, 12), "missing") << "the inner shard is not there";
      EXPECT_EQ(chunk_text(opened, 19), "ff");
    }
}

TEST(ZarrShards, shards_in_shards_are_read_step_by_step) {
  const Opened opened = open_letters(letters(sharding("[2, 4]", sharding("[2, 1]", kLittle))));
  const auto inner = make_shard(texts({"aa", "", "cc", "dd"}));
  const auto shard = make_shard({inner, inner});
  opened.store->objects->put("z/c/0/0", shard);
  std::vector<std::byte> memory;
  const auto room = [&](std::size_t size) -> Result<MutableBytes> {
    memory.resize(size);
    return MutableBytes(memory);
  };
  const auto outer_read = opened.array->index_read(6);
  ASSERT_TRUE(outer_read);
  EXPECT_FALSE(outer_read->version);
  const auto outer_answer = opened.store->objects->read(*outer_read, room);
  ASSERT_TRUE(opened.array->add_index(6, outer_answer));
  const auto inner_read = opened.array->index_read(6);
  ASSERT_TRUE(inner_read);
  EXPECT_EQ(inner_read->range, (ByteRange{inner.size() + 6, 68, false}));
  EXPECT_EQ(inner_read->version, outer_answer->version);
  EXPECT_EQ(inner_read->version->size, shard.size());
  EXPECT_TRUE(opened.array->add_index(6, outer_answer)) << "late: another thread has kept it";
  EXPECT_TRUE(opened.array->index_read(6));
  ASSERT_TRUE(opened.array->add_index(6, opened.store->objects->read(*inner_read, room)));
  EXPECT_FALSE(opened.array->index_read(6));
  EXPECT_EQ(chunk_text(opened, 6 + 2), "cc");
  EXPECT_EQ(opened.store->reads, 1);
  // Gone since: the inner index cannot be said to be missing.
  ASSERT_TRUE(opened.array->index_read(0));
  EXPECT_EQ(opened.array->add_index(0, fail(ErrorCode::kNotFound, "")).error().code, ErrorCode::kChanged);
}

TEST(ZarrShards, an_inner_shard_too_short_for_its_index_is_an_error) {
  const Opened opened = open_letters(letters(sharding("[2, 4]", sharding("[2, 1]", kLittle))));
  opened.store->objects->put("z/c/0/0", make_shard(texts({"short", ""})));
  EXPECT_THAT(chunk_text(opened, 0), HasSubstr("5 bytes, a chunk has 68 to"));
}

TEST(ZarrShards, transposed_before_sharding) {
  const Opened opened = open_letters(letters(
      R"({"name": "transpose", "configuration": {"order": [1, 0]}}, )" + sharding("[1, 2]", kLittle)));
  EXPECT_EQ(opened.array->chunk_shape(), (Shape{2, 1}));
  EXPECT_EQ(opened.array->chunk_strides(0), (Shape{1, 2}));
  opened.store->objects->put("z/c/0/0", make_shard(texts({"aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"})));
  // The index counts along the array's columns first.
  EXPECT_EQ(chunk_text(opened, 0), "aa");
  EXPECT_EQ(chunk_text(opened, 6), "bb");
  EXPECT_EQ(chunk_text(opened, 1), "cc");
  EXPECT_EQ(chunk_text(opened, 6 + 3), "hh");
}

TEST(ZarrShards, chunks_that_do_not_divide_their_shard_are_refused) {
  for (const char* chunk_shape : {"[3, 2]", "[8, 4]", "[4]", "[0, 2]", "[2, -2]"})
    EXPECT_FALSE(open_node({{"z/zarr.json", letters(sharding(chunk_shape, kLittle))}})->array(""))
        << chunk_shape;
  const auto many =
      open_v3({{"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [1048577, 1]}})"},
               {"codecs", "[" + sharding("[1, 1]", kLittle) + "]"}});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kTooLarge);
}

TEST(ZarrShards, large_shards_of_small_chunks_are_read) {
  const auto array =
      open_v3({{"shape", "[4611686018427, 100000]"},
               {"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [100000, 100000]}})"},
               {"codecs", "[" + sharding("[1000, 1000]", kLittle) + "]"}});
  ASSERT_TRUE(array) << array.error().describe();
  const auto read = array->data->index_read(array->data->chunks() - 1);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->key, "z/c/46116860/0");
}

TEST(ZarrShards, missing_chunks_are_filled_or_refused) {
  const Opened filled = open_letters(letters(sharding("[2, 2]", kLittle)));
  std::vector<std::byte> bytes(4);
  ASSERT_TRUE(filled.array->fill_missing(5, bytes));
  EXPECT_EQ(bytes, bytes_of("...."));
  const Opened refused = open_letters(letters(sharding("[2, 2]", kLittle)), MissingChunk::kError);
  const auto status = refused.array->fill_missing(5, bytes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(status.error().describe(), "chunk 1.2 is missing: z/c/0/1");
}

TEST(ZarrShards, errors_of_a_chunk_name_its_place_in_the_shard) {
  const Opened opened = open_letters(letters(sharding("[2, 2]", kLittle + R"(, {"name": "crc32c"})")));
  opened.store->objects->put("z/c/0/0", make_shard(texts({"aaaaxxxx", "bbbbyyyy", "", ""})));
  Ledger ledger(1 << 20);
  ScratchBudget budget(ledger, 1 << 20, 0);
  Scratch scratch(budget);
  CodecWorker worker(scratch, 0);
  std::vector<std::byte> out(4);
  const std::string encoded = chunk_text(opened, 1);
  const auto status = opened.array->decode(1, bytes_of(encoded), out, worker);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("chunk 0.1: "));
  EXPECT_EQ(status.error().where.uri, "z/c/0/0");
  EXPECT_EQ(status.error().where.offset, 8);
}

TEST(ZarrShards, many_threads_may_ask) {
  const Opened opened = open_letters(letters(sharding("[2, 4]", sharding("[2, 1]", kLittle)), "[64, 64]"));
  const auto inner = make_shard(texts({"aa", "", "cc", "dd"}));
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      if (i != 3)
        opened.store->objects->put("z/c/" + std::to_string(i) + "/" + std::to_string(j),
                                   make_shard({inner, inner}));
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < 2048; ++i) {
          const std::uint64_t chunk = (i * 61 + t * 7) % 2048;
          if (t == 0 && i % 5 == 0) opened.array->discard_index(chunk);
          if (t % 2 == 0) {
            while (const auto read = opened.array->index_read(chunk)) {
              std::vector<std::byte> memory;
              auto answer = opened.store->read(*read, [&](std::size_t size) -> Result<MutableBytes> {
                memory.resize(size);
                return MutableBytes(memory);
              });
              if (!opened.array->add_index(chunk, std::move(answer))) ++wrong;
            }
          }
          const bool missing = (chunk / 64) / 2 == 3 || chunk % 4 == 1;
          const std::string expected = missing          ? "missing"
                                       : chunk % 4 == 0 ? "aa"
                                       : chunk % 4 == 2 ? "cc"
                                                        : "dd";
          if (chunk_text(opened, chunk) != expected) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace penstock
