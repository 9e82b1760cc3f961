// Decodes with the codec chain of the reader, which is tested against the stores of other programs.
#include "pack/zarr/chunk_encoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "base/memory/scratch.h"
#include "decode/codec/codec_chain.h"

namespace penstock {
namespace {

PackedArray numbers(Shape sample, Shape chunk, std::int64_t shard_samples) {
  PackedArray array;
  array.name = "x";
  array.sample = {DType::kInt32, std::move(sample)};
  array.samples = 1000;
  array.chunk = std::move(chunk);
  array.shard_samples = shard_samples;
  return array;
}

std::vector<std::int32_t> counting(std::size_t count, std::int32_t first = 0) {
  std::vector<std::int32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<std::int32_t>(i);
  return values;
}

std::vector<std::int32_t> decoded(const PackedArray& array, ConstBytes encoded) {
  const auto chain = CodecChain::make({BytesCodec{}, ZstdCodec{}, Crc32cCodec{}}, {DType::kInt32, array.chunk});
  EXPECT_TRUE(chain.has_value());
  Ledger ledger(1 << 20);
  ScratchBudget budget(ledger, 1 << 20, 0);
  Scratch scratch(budget);
  CodecWorker worker(scratch, 0);
  std::vector<std::int32_t> out(element_count(array.chunk));
  const auto done = chain->decode(encoded, {reinterpret_cast<std::byte*>(out.data()), out.size() * 4}, worker);
  EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  return out;
}

ArrayBlock block_of(const std::vector<std::int32_t>& values, std::uint64_t first, std::uint64_t samples) {
  return {reinterpret_cast<const std::byte*>(values.data()), first, samples};
}

TEST(ChunkEncoder, whole_chunks_are_encoded_in_place) {
  const PackedArray array = numbers({3, 4}, {2, 3, 4}, 4);
  const auto encoder = ChunkEncoder::make(array);
  ASSERT_TRUE(encoder.has_value());
  const auto values = counting(4 * 12);
  const auto encoded = (*encoder)->encode(1, block_of(values, 0, 4));
  ASSERT_TRUE(encoded.has_value());
  EXPECT_EQ(decoded(array, *encoded), counting(24, 24));
}

TEST(ChunkEncoder, chunks_beyond_the_edges_have_the_fill_value_there) {
  PackedArray array = numbers({3, 5}, {2, 2, 4}, 4);
  const std::int32_t fill = -7;
  std::memcpy(array.fill.data(), &fill, sizeof fill);
  const auto encoder = ChunkEncoder::make(array);
  const auto values = counting(3 * 15);  // three samples: the last chunk along that axis is half full as well
  // Chunk 7 is (1, 1, 1): sample 2, row 2, column 4.
  const auto encoded = (*encoder)->encode(7, block_of(values, 0, 3));
  ASSERT_TRUE(encoded.has_value());
  std::vector<std::int32_t> expected(16, fill);
  expected[0] = 2 * 15 + 2 * 5 + 4;
  EXPECT_EQ(decoded(array, *encoded), expected);
}

TEST(ChunkEncoder, a_block_may_begin_within_the_shard) {
  const PackedArray array = numbers({3}, {2, 3}, 8);
  const auto encoder = ChunkEncoder::make(array);
  const auto values = counting(12);  // samples 4 to 7 of the shard
  const auto encoded = (*encoder)->encode(3, block_of(values, 4, 4));
  ASSERT_TRUE(encoded.has_value());
  EXPECT_EQ(decoded(array, *encoded), counting(6, 6));
}

TEST(ChunkEncoder, only_chunks_that_are_the_fill_value_everywhere_are_left_out) {
  const PackedArray array = numbers({4}, {2, 4}, 2);
  const auto encoder = ChunkEncoder::make(array);
  std::vector<std::int32_t> values(8, 0);
  EXPECT_TRUE((*encoder)->encode(0, block_of(values, 0, 2))->empty());
  values.back() = 1;
  EXPECT_FALSE((*encoder)->encode(0, block_of(values, 0, 2))->empty());
  values.assign(8, 5);
  EXPECT_FALSE((*encoder)->encode(0, block_of(values, 0, 2))->empty());
}

TEST(ChunkEncoder, the_checksum_covers_what_zstd_wrote) {
  const PackedArray array = numbers({64}, {1, 64}, 1);
  const auto encoder = ChunkEncoder::make(array);
  const auto encoded = (*encoder)->encode(0, block_of(counting(64), 0, 1));
  ASSERT_TRUE(encoded.has_value());
  std::uint32_t stored = 0;
  std::memcpy(&stored, encoded->data() + encoded->size() - 4, 4);
  EXPECT_EQ(stored, crc32c(encoded->first(encoded->size() - 4)));
  EXPECT_EQ((std::to_integer<int>((*encoded)[4]) >> 2) & 1, 0) << "zstd has no checksum of its own";
  EXPECT_GE(ChunkEncoder::memory_bytes(array), encoded->size());
}

}  // namespace
}  // namespace penstock
