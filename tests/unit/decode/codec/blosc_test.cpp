#include "decode/codec/blosc.h"

#include <gtest/gtest.h>

#include <cstring>

#include "unit/decode/codec/golden_codecs.h"

namespace penstock {
namespace {

GoldenChunk golden_frame(const std::string& name) {
  for (const GoldenChunk& chunk : golden_chunks())
    if (chunk.name == name) return chunk;
  ADD_FAILURE() << name;
  return {};
}

template <typename T>
Bytes with(Bytes frame, std::size_t offset, T value) {
  std::memcpy(frame.data() + offset, &value, sizeof(value));
  return frame;
}

ErrorCode code_of(const Bytes& bytes) {
  const auto frame = BloscFrame::open(bytes);
  if (!frame) return frame.error().code;
  Bytes out(frame->decoded_bytes());
  const auto status = frame->decode(out);
  EXPECT_FALSE(status);
  return status ? ErrorCode::kStopped : status.error().code;
}

class Blosc : public testing::Test {
 protected:
  void SetUp() override {
    if (!reads_blosc()) GTEST_SKIP();
    chunk_ = golden_frame("blosc split blocks");
  }
  GoldenChunk chunk_;
};

TEST_F(Blosc, a_frame_says_what_it_holds) {
  const auto frame = BloscFrame::open(chunk_.encoded);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->decoded_bytes(), chunk_.decoded.size());
  EXPECT_EQ(frame->item_bytes(), 4u);
  EXPECT_GE(frame->library_bytes(), 3 * 512u);
  Bytes other(chunk_.decoded.size() - 1);
  EXPECT_EQ(frame->decode(other).error().code, ErrorCode::kInvalidArgument);
  Bytes items(8);
  EXPECT_TRUE(frame->decode_items(542, items));
  EXPECT_EQ(frame->decode_items(543, items).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(frame->decode_items(std::size_t{1} << 62, items).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Blosc, headers_that_contradict_themselves_are_refused) {
  const Bytes& good = chunk_.encoded;
  const auto size = static_cast<std::uint32_t>(good.size());
  EXPECT_EQ(code_of(Bytes(15)), ErrorCode::kTruncated);
  EXPECT_EQ(code_of(with<std::uint8_t>(good, 0, 1)), ErrorCode::kUnsupported) << "format";
  EXPECT_EQ(code_of(with<std::uint8_t>(good, 0, 5)), ErrorCode::kUnsupported) << "Blosc 2";
  EXPECT_EQ(code_of(with<std::uint8_t>(good, 1, 2)), ErrorCode::kUnsupported) << "inner format's version";
  EXPECT_EQ(code_of(with<std::uint8_t>(good, 2, 0xE1)), ErrorCode::kUnsupported) << "inner format";
  EXPECT_EQ(code_of(with<std::uint8_t>(good, 2, 0x09)), ErrorCode::kUnsupported) << "flag of the future";
  EXPECT_EQ(code_of(with<std::uint8_t>(good, 2, 0x02)), ErrorCode::kCorrupt) << "stored, but smaller";
  EXPECT_EQ(code_of(with<std::uint8_t>(good, 3, 0)), ErrorCode::kCorrupt) << "items of nothing";
  EXPECT_EQ(code_of(with<std::uint32_t>(good, 4, 0xffffffff)), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(with<std::uint32_t>(good, 4, 0x7fffffff)), ErrorCode::kCorrupt);
  for (const std::uint32_t block : {0u, 1u, 2177u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
    EXPECT_EQ(code_of(with(good, 8, block)), ErrorCode::kCorrupt) << block;
  EXPECT_EQ(code_of(with(good, 12, size + 1)), ErrorCode::kTruncated);
  EXPECT_EQ(code_of(with(good, 12, size - 1)), ErrorCode::kCorrupt);
}

TEST_F(Blosc, blocks_that_begin_or_end_elsewhere_are_refused) {
  const Bytes& good = chunk_.encoded;
  const auto size = static_cast<std::uint32_t>(good.size());
  for (const std::uint32_t begin : {0u, 16u, 35u, size - 3, size, size + 1, 0x7fffffffu, 0xfffffffcu})
    for (const std::size_t entry : {16, 20, 32})
      EXPECT_NE(code_of(with(good, entry, begin)), ErrorCode::kStopped) << begin << " at " << entry;
  std::uint32_t first = 0;
  std::memcpy(&first, good.data() + 16, 4);
  EXPECT_EQ(code_of(with<std::uint32_t>(good, first, size)), ErrorCode::kTruncated);
  EXPECT_EQ(code_of(with<std::uint32_t>(good, first, 0xffffffff)), ErrorCode::kTruncated);
}

TEST_F(Blosc, pieces_that_are_longer_than_what_they_hold_are_refused) {
  Bytes frame = golden_frame("blosc zstd none").encoded;  // one piece a block, of 512 bytes
  std::uint32_t first = 0;
  std::memcpy(&first, frame.data() + 16, 4);
  EXPECT_EQ(code_of(with<std::uint32_t>(frame, first, 513)), ErrorCode::kCorrupt);
}

TEST_F(Blosc, blocks_that_do_not_hold_whole_items_are_refused) {
  // The library would hand out memory that nobody wrote.
  const Bytes bytes = with<std::uint32_t>(chunk_.encoded, 8, 518);
  const auto frame = BloscFrame::open(bytes);
  ASSERT_TRUE(frame);
  Bytes items(16);
  EXPECT_EQ(frame->decode_items(0, items).error().code, ErrorCode::kCorrupt);
}

// c-blosc #405: so many 255s that their sum overflows, and with it where the library writes.
TEST_F(Blosc, a_match_that_overflows_is_refused) {
  constexpr std::uint32_t kRun = 8'421'600, kBlock = 9'000'000;
  Bytes frame;
  put<std::uint32_t>(frame, 0x01100102);  // format 2, BloscLZ of version 1, not split, items of one byte
  put<std::uint32_t>(frame, kBlock);
  put<std::uint32_t>(frame, kBlock);
  put<std::uint32_t>(frame, 0);
  put<std::uint32_t>(frame, 20);
  const std::size_t piece = frame.size();
  put<std::uint32_t>(frame, 0);
  put<std::uint8_t>(frame, 31);  // 32 literals, then a match as long as can be
  frame.resize(frame.size() + 32, std::byte{'x'});
  put<std::uint8_t>(frame, 0xE0);
  frame.resize(frame.size() + kRun, std::byte{255});
  frame.resize(frame.size() + 40, std::byte{0});
  frame = with(frame, 12, static_cast<std::uint32_t>(frame.size()));
  frame = with(frame, piece, static_cast<std::uint32_t>(frame.size() - piece - 4));
  EXPECT_EQ(code_of(frame), ErrorCode::kCorrupt);
  const auto opened = BloscFrame::open(frame);
  ASSERT_TRUE(opened);
  Bytes out(opened->decoded_bytes());
  EXPECT_NE(opened->decode(out).error().message.find("without end"), std::string::npos);
}

TEST_F(Blosc, a_frame_that_lies_about_its_size_costs_nothing) {
  CodecBench bench(256 * 1024 + 8192);
  const auto chain = CodecChain::make({BloscCodec{}}, chunk_.spec);
  for (const std::uint32_t lie : {0u, 1u, 2175u, 2177u, 0x40000000u, 0x7fffffefu}) {
    const auto decoded = bench.decode(*chain, with(chunk_.encoded, 4, lie));
    ASSERT_FALSE(decoded) << lie;
    EXPECT_NE(decoded.error().code, ErrorCode::kNoMemory) << lie;
  }
}

}  // namespace
}  // namespace penstock
