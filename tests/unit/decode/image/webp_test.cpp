#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "decode/image/image_formats.h"
#include "support/decode_region.h"

namespace penstock {
namespace {

class Webp : public testing::Test {
 protected:
  void SetUp() override {
    if (!make_webp_codec(Limits{})) GTEST_SKIP() << "this build has no WebP";
  }
  ImageDecoder decoder_;
};

TEST_F(Webp, lossless_pixels_are_exact_also_by_region) {
  const Picture picture = make_picture(61, 47, 3, 3);
  const Encoded encoded = encode_webp(picture, true);
  const auto full = decode_all(decoder_, encoded);
  ASSERT_TRUE(full) << full.error().describe();
  EXPECT_EQ(full->pixels, picture.pixels);
  for (const Rect region : {Rect{1, 1, 3, 5}, Rect{60, 46, 1, 1}, Rect{0, 0, 61, 47}, Rect{13, 0, 20, 47}}) {
    const auto part = decode_region(decoder_, encoded, region);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->pixels, crop_of(picture, region).pixels);
  }
}

TEST_F(Webp, lossy_is_near_and_regions_agree_with_the_whole) {
  const Picture picture = make_picture(61, 47, 4, 3);
  const Encoded encoded = encode_webp(picture, false);
  const auto full = decode_all(decoder_, encoded);
  ASSERT_TRUE(full) << full.error().describe();
  const Rect region{7, 9, 31, 20};
  EXPECT_EQ(decode_region(decoder_, encoded, region)->pixels, crop_of(*full, region).pixels);
}

TEST_F(Webp, cut_at_every_place_is_an_error) {
  for (const bool lossless : {true, false}) {
    const Encoded whole = encode_webp(make_picture(20, 16, 3, 3), lossless);
    for (std::size_t size = 0; size < whole.size(); ++size)
      ASSERT_FALSE(decode_all(decoder_, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}))
          << size << " of " << whole.size();
  }
}

TEST_F(Webp, flipped_bits_never_crash) {
  for (const bool lossless : {true, false}) {
    const Encoded whole = encode_webp(make_picture(20, 16, 3, 3), lossless);
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += 3) {
      Encoded bytes = whole;
      bytes[bit / 8] ^= std::byte(1u << bit % 8);
      (void)decode_all(decoder_, bytes);
    }
  }
}

TEST_F(Webp, is_no_mask) {
  const auto mask = decode_all(decoder_, encode_webp(make_picture(20, 16, 3, 3), true), PixelFormat::kIndex);
  EXPECT_EQ(mask.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace penstock
