#include "decode/codec/codec_chain.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/crc32c.h"
#include "unit/decode/codec/golden_codecs.h"

namespace penstock {
namespace {

ErrorCode code_of(std::vector<Codec> codecs, const ArraySpec& spec) {
  const auto chain = CodecChain::make(std::move(codecs), spec);
  if (not_built(chain)) return ErrorCode::kStopped;
  EXPECT_FALSE(chain);
  return chain ? ErrorCode::kStopped : chain.error().code;
}

const StoredType kI4{DType::kInt32, false}, kI2{DType::kInt16, false};

TEST(CodecChain, decodes_what_numcodecs_encoded_to_the_last_bit) {
  CodecBench bench;
  for (const GoldenChunk& chunk : golden_chunks()) {
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain)) continue;
    ASSERT_TRUE(chain) << chunk.name << ": " << chain.error().describe();
    EXPECT_EQ(chain->decoded_bytes(), chunk.decoded.size());
    EXPECT_GE(chain->max_encoded_bytes(), chunk.encoded.size());
    const auto decoded = bench.decode(*chain, chunk.encoded);
    if (chunk.name.find("snappy") != std::string::npos && !decoded &&
        decoded.error().code == ErrorCode::kUnsupported)
      continue;  // the installed libblosc has none
    ASSERT_TRUE(decoded) << chunk.name << ": " << decoded.error().describe();
    EXPECT_EQ(*decoded, chunk.decoded) << chunk.name;
  }
}

TEST(CodecChain, knows_what_it_can_do_with_every_chunk) {
  for (const GoldenChunk& chunk : golden_chunks()) {
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain)) continue;
    const bool blosc = chunk.codecs.size() == 1 && std::holds_alternative<BloscCodec>(chunk.codecs[0]);
    const bool plain = chunk.name == "plain" || chunk.name == "shuffle 1" || chunk.name == "quantize <f4 <f4";
    EXPECT_EQ(chain->is_plain(), plain) << chunk.name;
    EXPECT_EQ(chain->decodes_parts(), blosc || plain) << chunk.name;
    // The golden arrays are little-endian where their names do not say otherwise.
    const bool big = chunk.name.find(" >") != std::string::npos || chunk.name.find("big-endian") < 4;
    EXPECT_EQ(chain->swap_bytes(), big) << chunk.name;
  }
}

TEST(CodecChain, parts_are_slices_of_the_whole) {
  CodecBench bench;
  for (const GoldenChunk& chunk : golden_chunks()) {
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain) || !chain->decodes_parts()) continue;
    const auto whole = bench.decode(*chain, chunk.encoded);
    if (!whole) continue;  // Snappy
    const std::size_t all = whole->size();
    for (std::size_t first = 0; first <= all; first += 1 + all / 37)
      for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{7},
                               std::size_t{512}, std::size_t{516}, all / 2, all - first}) {
        size = std::min(size, all - first);
        const auto part = bench.decode_part(*chain, chunk.encoded, first, size);
        ASSERT_TRUE(part) << chunk.name << " " << first << "+" << size << part.error().describe();
        ASSERT_TRUE(
            std::equal(part->begin(), part->end(), whole->begin() + static_cast<std::ptrdiff_t>(first)))
            << chunk.name << " " << first << "+" << size;
      }
    EXPECT_EQ(bench.decode_part(*chain, chunk.encoded, 1, all).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(bench.decode_part(*chain, chunk.encoded, all + 1, 0).error().code, ErrorCode::kInvalidArgument);
  }
  const auto summed = CodecChain::make({Crc32cCodec{}}, bytes_spec(4));
  EXPECT_EQ(bench.decode_part(*summed, Bytes(8), 0, 1).error().code, ErrorCode::kInvalidArgument);
}

TEST(CodecChain, transposes_compose) {
  const ArraySpec spec{DType::kUInt8, {2, 3, 4}};
  using Axes = std::vector<int>;
  EXPECT_EQ(CodecChain::make({}, spec)->axes(), (Axes{0, 1, 2}));
  EXPECT_EQ(CodecChain::make({TransposeCodec{{2, 1, 0}}}, spec)->axes(), (Axes{2, 1, 0}));
  // After the first, axis 0 is 1, axis 1 is 2, axis 2 is 0; the second takes of those 1, 0, 2.
  EXPECT_EQ(CodecChain::make({TransposeCodec{{1, 2, 0}}, TransposeCodec{{1, 0, 2}}}, spec)->axes(),
            (Axes{2, 1, 0}));
  EXPECT_EQ(CodecChain::make({TransposeCodec{{1, 2, 0}}, TransposeCodec{{2, 0, 1}}}, spec)->axes(),
            (Axes{0, 1, 2}));
  EXPECT_TRUE(CodecChain::make({TransposeCodec{{2, 1, 0}}, BytesCodec{}}, spec)->is_plain());
  EXPECT_EQ(CodecChain::make({}, {DType::kUInt8, {}})->decoded_bytes(), 1u);
}

TEST(CodecChain, byte_order_is_seen_through) {
  const ArraySpec spec{DType::kInt32, {4}};
  EXPECT_FALSE(CodecChain::make({}, spec)->swap_bytes());
  EXPECT_FALSE(CodecChain::make({BytesCodec{false}}, spec)->swap_bytes());
  EXPECT_TRUE(CodecChain::make({BytesCodec{true}}, spec)->swap_bytes());
  EXPECT_FALSE(CodecChain::make({BytesCodec{true}}, bytes_spec(4))->swap_bytes()) << "one byte has no order";
  // With filters it is the first one's decoded type that is left standing.
  const DeltaCodec little{kI4, kI2}, big{{DType::kInt32, true}, {DType::kInt16, true}};
  EXPECT_FALSE(CodecChain::make({little, BytesCodec{true}}, spec)->swap_bytes());
  EXPECT_TRUE(CodecChain::make({big, BytesCodec{false}}, spec)->swap_bytes());
  EXPECT_TRUE(CodecChain::make({big}, spec)->swap_bytes());
  EXPECT_TRUE(CodecChain::make({BytesCodec{true}, little}, spec)->swap_bytes());
}

TEST(CodecChain, codecs_that_make_no_sense_together_are_refused) {
  const ArraySpec spec{DType::kInt32, {4, 5}};
  const DeltaCodec delta{kI4, kI2};
  EXPECT_EQ(code_of({TransposeCodec{{0}}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({TransposeCodec{{0, 0}}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({TransposeCodec{{1, 2}}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({TransposeCodec{{-1, 0}}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({Crc32cCodec{}, TransposeCodec{{1, 0}}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({Crc32cCodec{}, BytesCodec{}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({BytesCodec{}, BytesCodec{}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({Crc32cCodec{}, delta}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({delta, BytesCodec{}, DeltaCodec{kI2, kI2}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({delta, delta}, spec), ErrorCode::kInvalidArgument) << "int16 is no int32";
  EXPECT_EQ(code_of({delta, TransposeCodec{{1, 0}}}, spec), ErrorCode::kUnsupported)
      << "differences along an order that is not there yet";
  EXPECT_EQ(code_of({ShuffleCodec{3}}, spec), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({QuantizeCodec{kI4, kI4}}, spec), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of({DeltaCodec{{DType::kBool, false}, {DType::kBool, false}}}, {DType::kBool, {4}}),
            ErrorCode::kUnsupported);
  EXPECT_EQ(code_of({}, {DType::kInt32, {-1}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({}, {DType::kInt32, {1 << 30, 1 << 30, 1 << 30}}), ErrorCode::kTooLarge);
  EXPECT_EQ(code_of(std::vector<Codec>(33, Crc32cCodec{}), spec), ErrorCode::kTooLarge);
  const auto many = CodecChain::make(std::vector<Codec>(5, ZstdCodec{}), spec);
  EXPECT_EQ(many.error().code, ErrorCode::kUnsupported);
}

TEST(CodecChain, chunks_of_no_elements_are_empty) {
  CodecBench bench;
  const ArraySpec none{DType::kFloat32, {0, 3}};
  EXPECT_TRUE(bench.decode(*CodecChain::make({}, none), {}));
  EXPECT_TRUE(bench.decode(*CodecChain::make({DeltaCodec{{DType::kFloat32}, kI2}}, none), {}));
  Bytes sum;
  put(sum, crc32c({}));
  EXPECT_TRUE(bench.decode(*CodecChain::make({Crc32cCodec{}}, none), sum));
  for (const Codec& codec :
       {Codec{GzipCodec{}}, Codec{ZlibCodec{}}, Codec{ZstdCodec{}}, Codec{Lz4Codec{}}, Codec{BloscCodec{}}}) {
    const auto chain = CodecChain::make({codec}, none);
    EXPECT_TRUE(not_built(chain) || !bench.decode(*chain, {}));
  }
}

TEST(CodecChain, room_must_be_the_chunk_and_the_chunk_not_too_long) {
  CodecBench bench;
  const auto chain = CodecChain::make({Crc32cCodec{}}, bytes_spec(4));
  Bytes small(3);
  EXPECT_EQ(chain->decode(Bytes(8), small, bench.worker).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(chain->max_encoded_bytes(), 8u);
  EXPECT_EQ(bench.decode(*chain, Bytes(9)).error().code, ErrorCode::kCorrupt);
}

TEST(CodecChain, offsets_in_errors_are_those_of_the_chunk) {
  CodecBench bench;
  const auto chain = CodecChain::make({BloscCodec{}}, bytes_spec(700));
  if (not_built(chain)) GTEST_SKIP();
  Bytes frame(40);
  frame[0] = std::byte{2};
  const auto decoded = bench.decode(*chain, frame);
  EXPECT_EQ(decoded.error().where.offset, 12) << decoded.error().describe();
}

// A compressed chunk goes straight to where it belongs: there is no memory for another copy.
TEST(CodecChain, the_last_step_needs_no_memory_but_the_librarys) {
  for (const GoldenChunk& chunk : golden_chunks()) {
    const bool one = chunk.codecs.size() == 1 || chunk.name == "zstd crc32c";
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (!one || not_built(chain)) continue;
    const bool blosc = std::holds_alternative<BloscCodec>(chunk.codecs[0]);
    CodecBench bench(blosc ? 256 * 1024 + 4 * chunk.decoded.size() + 64 : 0);
    const auto decoded = bench.decode(*chain, chunk.encoded);
    if (!decoded && decoded.error().code == ErrorCode::kUnsupported) continue;
    EXPECT_TRUE(decoded) << chunk.name << ": " << decoded.error().describe();
  }
}

TEST(CodecChain, what_does_not_fit_the_budget_is_an_error) {
  for (const GoldenChunk& chunk : golden_chunks()) {
    if (chunk.name != "blosc lz4 bytes" && chunk.name != "zlib lz4 gzip" &&
        chunk.name != "delta shuffle zlib")
      continue;
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain)) continue;
    CodecBench bench(1000);
    EXPECT_EQ(bench.decode(*chain, chunk.encoded).error().code, ErrorCode::kNoMemory) << chunk.name;
  }
}

TEST(CodecChain, many_chunks_of_one_sample_are_charged_once) {
  const auto chunks = golden_chunks();
  const auto chunk = std::ranges::find(chunks, "blosc lz4 bytes", &GoldenChunk::name);
  const auto chain = CodecChain::make(chunk->codecs, chunk->spec);
  if (not_built(chain)) GTEST_SKIP();
  CodecBench bench(512 * 1024);
  Bytes out(chunk->decoded.size());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(chain->decode(chunk->encoded, out, bench.worker));
  EXPECT_GT(bench.ledger.used(), 256u * 1024) << "the library's memory is in the ledger";
  bench.end_sample();
  EXPECT_EQ(bench.ledger.used(), 0u);
}

}  // namespace
}  // namespace penstock
