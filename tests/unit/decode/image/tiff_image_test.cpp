// What a TIFF image may ask of libtiff. (Its pixels: tests/conformance/image_codec_test.cpp.)
#include <gtest/gtest.h>

#include "decode/image/image_formats.h"
#include "support/decode_region.h"
#include "support/make_tiff.h"

namespace penstock {
namespace {

class TiffImage : public testing::Test {
 protected:
  void SetUp() override {
    if (!make_tiff_codec(Limits{})) GTEST_SKIP() << "this build reads no TIFF images";
  }

  // A 4 x 3 page of grey with these tags besides, or instead.
  static Encoded with(const TiffTags& tags) {
    TiffMaker maker;
    TiffTags all = small_page(maker.add_data(64));
    for (const auto& [tag, values] : tags) all[tag] = values;
    maker.add_page(all);
    return maker.file();
  }

  Error error_of(const Encoded& encoded) {
    const auto header = decoder_.open(encoded);
    return header ? Error{ErrorCode::kStopped, "it opened", {}, false} : header.error();
  }

  ImageDecoder decoder_;
};

TEST_F(TiffImage, a_small_page_is_read) {
  const auto pixels = decode_all(decoder_, with({}), PixelFormat::kGrey);
  ASSERT_TRUE(pixels) << pixels.error().describe();
  EXPECT_EQ(pixels->pixels, std::vector<std::uint8_t>(12, 7));
}

TEST_F(TiffImage, tags_over_the_same_bytes_may_not_claim_more_than_the_file) {
  TiffTags tags;
  for (std::uint16_t tag = 40'000; tag < 40'020; ++tag) tags[tag] = {1, std::vector<std::uint64_t>(100, 1)};
  EXPECT_TRUE(decode_all(decoder_, with(tags)));
  for (auto& [tag, values] : tags) values.claimed_count = 900;
  EXPECT_EQ(error_of(with(tags)).code, ErrorCode::kCorrupt);
}

TEST_F(TiffImage, huge_tiles_of_a_small_image_are_refused) {
  const Encoded encoded = with({{322, {4, {65'488}}}, {323, {4, {65'488}}}, {324, {4, {8}}}, {325, {4, {12}}}});
  EXPECT_EQ(error_of(encoded).code, ErrorCode::kTooLarge);
}

TEST_F(TiffImage, what_is_not_read_is_named) {
  EXPECT_NE(error_of(with({{259, {3, {34'925}}}})).message.find("compression 34925"), std::string::npos);
  EXPECT_NE(error_of(with({{258, {3, {32}}}, {339, {3, {3}}}})).message.find("floating-point"), std::string::npos);
  EXPECT_NE(error_of(with({{262, {3, {8}}}})).message.find("L*a*b*"), std::string::npos);
  EXPECT_NE(error_of(with({{262, {3, {3}}}})).message.find("palette"), std::string::npos);
}

TEST_F(TiffImage, colours_are_no_mask) {
  const Encoded encoded = with({{258, {3, {8, 8, 8}}}, {262, {3, {2}}}, {277, {3, {3}}}, {279, {4, {36}}}});
  EXPECT_TRUE(decode_all(decoder_, encoded));
  EXPECT_EQ(decode_all(decoder_, encoded, PixelFormat::kIndex).error().code, ErrorCode::kUnsupported);
}

TEST_F(TiffImage, memory_for_what_libtiff_keeps_is_announced) {
  const auto plain = decoder_.open(with({}));
  const auto reversed = decoder_.open(with({{266, {3, {2}}}}));
  ASSERT_TRUE(plain && reversed);
  EXPECT_GT(reversed->working_bytes, plain->working_bytes);
  EXPECT_GT(plain->working_bytes, 0u);
}

}  // namespace
}  // namespace penstock
