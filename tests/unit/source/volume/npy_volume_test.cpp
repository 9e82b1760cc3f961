#include "source/volume/npy_volume.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "store/memory_store.h"
#include "support/make_npy.h"
#include "support/read_chunked.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

Result<ChunkedArrayPtr> open_bytes(std::vector<std::byte> bytes) {
  auto store = std::make_shared<MemoryStore>();
  store->put("v.npy", std::move(bytes));
  return open_npy_volume(std::move(store), "v.npy", "v.npy");
}

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1000u);
  return values;
}

std::vector<std::uint32_t> elements(const ChunkedArray& array) {
  const auto bytes = read_whole(array);
  EXPECT_TRUE(bytes) << bytes.error().describe();
  std::vector<std::uint32_t> values(element_count(array.spec().shape));
  if (bytes) std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

TEST(NpyVolume, has_the_elements_of_the_array_in_chunks_that_lie_in_one_piece) {
  const struct {
    Shape shape, chunk;
  } rows[] = {
      {{5, 7}, {5, 7}},
      {{3, 300, 400}, {1, 163, 400}},          // planes of 480000 bytes
      {{100, 10, 20}, {100, 10, 20}},          // all of it
      {{100, 50, 20}, {65, 50, 20}},           // planes of 4000 bytes, as many as fit
      {{2, 1, 3, 100'000}, {1, 1, 1, 65536}},  // rows that are longer than a chunk
      {{70'000}, {65536}},
  };
  for (const auto& row : rows) {
    const auto values = counting(element_count(row.shape));
    const auto array = open_bytes(make_npy("<u4", row.shape, values));
    ASSERT_TRUE(array) << array.error().describe();
    EXPECT_EQ((*array)->spec(), (ArraySpec{DType::kUInt32, row.shape}));
    EXPECT_EQ((*array)->chunk_shape(), row.chunk);
    EXPECT_TRUE((*array)->is_plain());
    EXPECT_EQ(elements(**array), values);
  }
}

TEST(NpyVolume, chunks_cover_the_file_without_gap_and_the_last_ones_are_shorter) {
  const Shape shape = {3, 300, 400};
  const auto array = *open_bytes(make_npy("<u4", shape, counting(element_count(shape))));
  ASSERT_EQ(array->chunks(), 6u);
  EXPECT_EQ(array->chunk_bytes(0), 163u * 1600);
  EXPECT_EQ(array->chunk_bytes(1), 137u * 1600);
  EXPECT_EQ(array->chunk_strides(1), (Shape{137 * 1600, 1600, 4}));
  std::uint64_t end = array->location(0)->read.range.offset;
  EXPECT_EQ(end % 64, 0u);
  for (std::uint64_t chunk = 0; chunk < array->chunks(); ++chunk) {
    const auto place = array->location(chunk);
    EXPECT_EQ(place->read.range.offset, end);
    EXPECT_EQ(place->read.range.length, array->chunk_bytes(chunk));
    EXPECT_TRUE(place->read.version);
    end += place->read.range.length;
  }
  EXPECT_EQ(end, array->location(0)->read.version->size);
}

TEST(NpyVolume, fortran_order_is_seen_through) {
  const Shape shape = {300, 50, 9};
  auto values = counting(element_count(shape));
  const auto array = open_bytes(make_npy("<u4", shape, values, true));
  ASSERT_TRUE(array) << array.error().describe();
  EXPECT_EQ((*array)->chunk_shape(), (Shape{300, 50, 4}));
  EXPECT_EQ((*array)->chunk_strides(0), (Shape{4, 1200, 60'000}));
  const auto got = elements(**array);
  std::size_t at = 0;
  for (std::size_t i = 0; i < 300; ++i)
    for (std::size_t j = 0; j < 50; ++j)
      for (std::size_t k = 0; k < 9; ++k) ASSERT_EQ(got[at++], values[i + 300 * (j + 50 * k)]);
}

TEST(NpyVolume, big_endian_elements_are_to_be_swapped) {
  auto values = counting(12);
  const auto expected = values;
  for (auto& value : values) value = __builtin_bswap32(value);
  const auto array = open_bytes(make_npy(">u4", {3, 4}, values));
  ASSERT_TRUE(array);
  EXPECT_TRUE((*array)->swap_bytes());
  EXPECT_EQ(elements(**array), expected);
}

TEST(NpyVolume, parts_of_a_chunk_are_decoded_and_wrong_sizes_are_refused) {
  const auto array = *open_bytes(make_npy("<u4", {3, 4}, counting(12)));
  const auto chunk = *read_chunk(*array, 0);
  Ledger ledger(1 << 20);
  ScratchBudget budget(ledger, 1 << 20, 0);
  Scratch scratch(budget);
  CodecWorker worker(scratch, 0);
  std::vector<std::byte> part(8);
  ASSERT_TRUE(array->decode_part(0, chunk, 40, part, worker));
  EXPECT_EQ(std::memcmp(part.data(), chunk.data() + 40, 8), 0);
  EXPECT_FALSE(array->decode_part(0, chunk, 41, part, worker));
  EXPECT_FALSE(array->decode(0, chunk, part, worker));
  EXPECT_FALSE(array->decode(0, part, part, worker));
  EXPECT_EQ(array->fill_missing(0, part).error().code, ErrorCode::kNotFound);
}

TEST(NpyVolume, what_is_no_volume_is_an_error_with_its_uri) {
  const struct {
    std::vector<std::byte> bytes;
    ErrorCode code;
  } rows[] = {
      {make_npy("<u4", {}, counting(1)), ErrorCode::kShapeMismatch},
      {make_npy("<u4", {3, 0, 2}, counting(0)), ErrorCode::kNotFound},
      {make_npy("<u4", {3, 4}, counting(11)), ErrorCode::kTruncated},
      {make_npy("<u4", {3, 4}, counting(13)), ErrorCode::kCorrupt},
      {bytes_of("not an npy file"), ErrorCode::kCorrupt},
      {{}, ErrorCode::kTruncated},
  };
  for (const auto& row : rows) {
    const auto array = open_bytes(row.bytes);
    ASSERT_FALSE(array);
    EXPECT_EQ(array.error().code, row.code) << array.error().describe();
    EXPECT_EQ(array.error().where.uri, "v.npy");
  }
  EXPECT_EQ(open_npy_volume(std::make_shared<MemoryStore>(), "v.npy", "v.npy").error().code,
            ErrorCode::kNotFound);
}

TEST(NpyVolume, a_file_that_changed_is_noticed) {
  auto store = std::make_shared<MemoryStore>();
  store->put("v.npy", make_npy("<u4", {3, 4}, counting(12)));
  const auto array = *open_npy_volume(store, "v.npy", "v.npy");
  store->put("v.npy", make_npy("<u4", {3, 5}, counting(15)));
  EXPECT_EQ(read_chunk(*array, 0).error().code, ErrorCode::kChanged);
}

}  // namespace
}  // namespace penstock
