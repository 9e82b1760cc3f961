#include <gtest/gtest.h>

#include <initializer_list>

#include "support/decode_region.h"

namespace penstock {
namespace {

Encoded qoi(unsigned width, unsigned height, std::initializer_list<int> data, bool has_end = true) {
  Encoded bytes;
  const auto add = [&](unsigned byte) { bytes.push_back(static_cast<std::byte>(byte)); };
  for (const char letter : {'q', 'o', 'i', 'f'}) add(static_cast<unsigned>(letter));
  for (const unsigned number : {width, height})
    for (const int shift : {24, 16, 8, 0}) add(number >> shift & 0xFF);
  add(4);
  add(0);
  for (const int byte : data) add(static_cast<unsigned>(byte));
  if (has_end)
    for (int i = 0; i < 8; ++i) add(i == 7);
  return bytes;
}

using Pixels = std::vector<std::uint8_t>;

TEST(Qoi, every_kind_of_chunk_gives_its_pixel) {
  ImageDecoder decoder;
  const auto decoded = decode_all(decoder, qoi(7, 1,
                                               {
                                                   0xFE, 10, 20, 30,   // red, green, blue
                                                   0x40 | 0b11'10'01,  // differences 1, 0, -1
                                                   0x80 | 40, 0x5A,    // green +8, red +8-3, blue +8+2
                                                   0xFF, 1, 2, 3, 4,   // with alpha, which is dropped
                                                   0xC1,               // two more of them
                                                   (10 * 3 + 20 * 5 + 30 * 7 + 255 * 11) % 64,  // seen first
                                               }));
  ASSERT_TRUE(decoded) << decoded.error().describe();
  EXPECT_EQ(decoded->pixels, (Pixels{10, 20, 30, 11, 20, 29, 16, 28, 39, 1, 2, 3, 1, 2, 3, 1, 2, 3, 10, 20, 30}));
}

TEST(Qoi, differences_wrap_around) {
  ImageDecoder decoder;
  const auto decoded = decode_all(decoder, qoi(2, 1, {0x40, 0x80, 0x00}));
  ASSERT_TRUE(decoded) << decoded.error().describe();
  EXPECT_EQ(decoded->pixels, (Pixels{254, 254, 254, 214, 222, 214}));
}

TEST(Qoi, an_image_begins_with_opaque_black) {
  ImageDecoder decoder;
  const auto decoded = decode_all(decoder, qoi(3, 1, {0xC0, 255 * 11 % 64, 0x00}));
  ASSERT_TRUE(decoded) << decoded.error().describe();
  EXPECT_EQ(decoded->pixels, Pixels(9, 0));
}

TEST(Qoi, data_that_end_early_or_late_are_damage) {
  ImageDecoder decoder;
  EXPECT_EQ(decode_all(decoder, qoi(4, 1, {0xC2})).error().code, ErrorCode::kTruncated);
  EXPECT_EQ(decode_all(decoder, qoi(4, 1, {0xC4})).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(decode_all(decoder, qoi(4, 1, {0xC3}, false)).error().code, ErrorCode::kTruncated);
  EXPECT_EQ(decode_all(decoder, qoi(4, 1, {0xC2, 0xFE, 1, 2}, false)).error().code, ErrorCode::kTruncated);
  // Fewer bytes than so many pixels can take, noticed before memory is allocated for them.
  EXPECT_EQ(decoder.open(qoi(1000, 1000, {0xC3})).error().code, ErrorCode::kTruncated);
}

}  // namespace
}  // namespace penstock
