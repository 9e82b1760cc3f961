// Chunks that are cut, flipped, too long, or lie about themselves.
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "unit/decode/codec/golden_codecs.h"

namespace penstock {
namespace {

ErrorCode code_of(const Result<Bytes>& decoded) {
  EXPECT_FALSE(decoded);
  return decoded ? ErrorCode::kStopped : decoded.error().code;
}

// Whether damage to these bytes is always noticed: what is stored as it is has no redundancy, and the
// Adler-32 of zlib misses a few.
bool has_checksum(const GoldenChunk& chunk) {
  const auto& last = chunk.codecs.back();
  return std::holds_alternative<GzipCodec>(last) || std::holds_alternative<Crc32cCodec>(last) ||
         chunk.name == "zstd checksum";
}

TEST(CodecDamage, a_chunk_cut_short_anywhere_is_an_error) {
  CodecBench bench;
  for (const GoldenChunk& chunk : golden_chunks()) {
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain)) continue;
    const std::size_t padding = chunk.name == "gzip padded" ? 5 : 0;
    for (std::size_t size = 0; size < chunk.encoded.size() - padding; ++size) {
      const Bytes cut(chunk.encoded.begin(), chunk.encoded.begin() + static_cast<std::ptrdiff_t>(size));
      const auto decoded = bench.decode(*chain, cut);
      ASSERT_FALSE(decoded) << chunk.name << " cut to " << size;
      const ErrorCode code = decoded.error().code;
      EXPECT_TRUE(code == ErrorCode::kTruncated || code == ErrorCode::kCorrupt ||
                  code == ErrorCode::kUnsupported)
          << decoded.error().describe();
    }
  }
}

TEST(CodecDamage, bytes_behind_a_chunk_are_an_error) {
  CodecBench bench;
  for (const GoldenChunk& chunk : golden_chunks()) {
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain)) continue;
    Bytes longer = chunk.encoded;
    longer.push_back(std::byte{7});
    EXPECT_FALSE(bench.decode(*chain, longer)) << chunk.name;
  }
}

TEST(CodecDamage, a_flipped_bit_does_no_harm_and_is_noticed_where_there_is_a_checksum) {
  CodecBench bench;
  for (const GoldenChunk& chunk : golden_chunks()) {
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain) || chunk.codecs.empty()) continue;
    // Filters alone take any bytes for elements: nothing in there could mislead them.
    if (chain->max_encoded_bytes() == chunk.encoded.size() && !has_checksum(chunk)) continue;
    Bytes encoded = chunk.encoded;
    for (std::size_t bit = 0; bit < encoded.size() * 8; ++bit) {
      const auto mask = std::byte{static_cast<unsigned char>(1 << bit % 8)};
      encoded[bit / 8] ^= mask;
      const auto decoded = bench.decode(*chain, encoded);
      if (chain->decodes_parts()) {
        const std::size_t half = chunk.decoded.size() / 2;
        const auto part = bench.decode_part(*chain, encoded, half, 3);
        if (decoded) {
          ASSERT_TRUE(part) << chunk.name << " bit " << bit;
          EXPECT_TRUE(
              std::equal(part->begin(), part->end(), decoded->begin() + static_cast<std::ptrdiff_t>(half)));
        }
      }
      encoded[bit / 8] ^= mask;
      // Some bits of gzip's header are a time and a name, and some behind the last block mean nothing.
      if (!decoded || !has_checksum(chunk)) continue;
      EXPECT_EQ(*decoded, chunk.decoded) << chunk.name << " bit " << bit;
    }
  }
}

TEST(CodecDamage, sizes_that_are_not_the_chunks_are_an_error) {
  CodecBench bench;
  for (const GoldenChunk& chunk : golden_chunks()) {
    ArraySpec larger = chunk.spec, smaller = chunk.spec;
    larger.shape[0] += 12;
    smaller.shape[0] -= 3;
    for (const ArraySpec& spec : {larger, smaller}) {
      const auto chain = CodecChain::make(chunk.codecs, spec);
      if (!chain) continue;  // not built, or elements that a shuffle does not fit
      const auto decoded = bench.decode(*chain, chunk.encoded);
      EXPECT_FALSE(decoded) << chunk.name;
    }
  }
}

TEST(CodecDamage, noise_does_no_harm) {
  CodecBench bench;
  Draws draws(1, 2, 3);
  for (const GoldenChunk& chunk : golden_chunks()) {
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain) || chunk.codecs.empty()) continue;
    for (int i = 0; i < 200; ++i) {
      Bytes encoded = chunk.encoded;
      for (int change = 0; change < 1 + i % 8; ++change)
        encoded[draws.below(encoded.size())] = std::byte{static_cast<unsigned char>(draws.below(256))};
      (void)bench.decode(*chain, encoded);
    }
  }
}

// A frame without a content size, of blocks that repeat one byte: 4 bytes for 128 KiB.
Bytes zstd_bomb(std::size_t blocks) {
  Bytes frame;
  put<std::uint32_t>(frame, 0xFD2FB528);
  put<std::uint8_t>(frame, 0);       // no content size, no checksum, no dictionary
  put<std::uint8_t>(frame, 7 << 3);  // a window of 128 KiB
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint32_t header = (i + 1 == blocks) | 1u << 1 | (128u << 10) << 3;
    for (int shift : {0, 8, 16}) put<std::uint8_t>(frame, static_cast<std::uint8_t>(header >> shift));
    put<std::uint8_t>(frame, 0x55);
  }
  return frame;
}

TEST(CodecDamage, a_zstd_bomb_stops_at_the_chunk) {
  const auto whole = CodecChain::make({ZstdCodec{}}, bytes_spec(128 << 10));
  if (not_built(whole)) GTEST_SKIP();
  CodecBench bench(4 << 20);
  EXPECT_EQ(*bench.decode(*whole, zstd_bomb(1)), Bytes(128 << 10, std::byte{0x55})) << "no content size";
  const Bytes bomb = zstd_bomb(16'384);  // 2 GiB
  EXPECT_EQ(code_of(bench.decode(*whole, bomb)), ErrorCode::kCorrupt);
  // Behind another compressor it stops at what that could have made.
  const auto stacked = CodecChain::make({Crc32cCodec{}, ZstdCodec{}, ZstdCodec{}}, bytes_spec(128 << 10));
  EXPECT_EQ(code_of(bench.decode(*stacked, bomb)), ErrorCode::kCorrupt);
  EXPECT_LE(bench.ledger.peak(), std::uint64_t{4} << 20);
}

TEST(CodecDamage, zstd_frames_that_need_a_dictionary_are_unsupported) {
  const auto chain = CodecChain::make({ZstdCodec{}}, bytes_spec(128 << 10));
  if (not_built(chain)) GTEST_SKIP();
  CodecBench bench;
  Bytes frame = zstd_bomb(1);
  frame[4] = std::byte{1};
  frame.insert(frame.begin() + 6, std::byte{42});
  const auto decoded = bench.decode(*chain, frame);
  EXPECT_EQ(code_of(decoded), ErrorCode::kUnsupported) << decoded.error().describe();
  // Formats of before 0.8.
  const Bytes old{std::byte{0x27}, std::byte{0xB5}, std::byte{0x2F},
                  std::byte{0xFD}, std::byte{0},    std::byte{0}};
  EXPECT_EQ(code_of(bench.decode(*chain, old)), ErrorCode::kCorrupt);
}

TEST(CodecDamage, skippable_zstd_frames_are_skipped) {
  const auto chain = CodecChain::make({ZstdCodec{}}, bytes_spec(256 << 10));
  if (not_built(chain)) GTEST_SKIP();
  Bytes frames = zstd_bomb(1);
  put<std::uint32_t>(frames, 0x184D2A53);
  put<std::uint32_t>(frames, 5);
  frames.resize(frames.size() + 5);
  const Bytes more = zstd_bomb(1);
  frames.insert(frames.end(), more.begin(), more.end());
  CodecBench bench;
  EXPECT_TRUE(bench.decode(*chain, frames));
}

TEST(CodecDamage, a_gzip_bomb_stops_at_the_chunk) {
  const auto chunks = golden_chunks();
  const auto chunk = std::ranges::find(chunks, "gzip", &GoldenChunk::name);
  const auto chain = CodecChain::make(chunk->codecs, chunk->spec);
  if (not_built(chain)) GTEST_SKIP();
  CodecBench bench(0);
  // Members that never end: each is whole, the second is one too many.
  Bytes members;
  for (int i = 0; i < 1000; ++i) members.insert(members.end(), chunk->encoded.begin(), chunk->encoded.end());
  EXPECT_EQ(code_of(bench.decode(*chain, members)), ErrorCode::kCorrupt);
}

TEST(CodecDamage, lz4_that_lies_about_its_size_is_an_error) {
  CodecBench bench(0);
  for (const GoldenChunk& chunk : golden_chunks()) {
    if (chunk.name != "lz4") continue;
    const auto chain = CodecChain::make(chunk.codecs, chunk.spec);
    if (not_built(chain)) GTEST_SKIP();
    for (const std::uint32_t lie : {0u, 1u, 799u, 801u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      Bytes encoded = chunk.encoded;
      std::memcpy(encoded.data(), &lie, 4);
      const ErrorCode code = code_of(bench.decode(*chain, encoded));
      EXPECT_TRUE(code == ErrorCode::kCorrupt || code == ErrorCode::kTruncated) << lie;
    }
  }
}

}  // namespace
}  // namespace penstock
