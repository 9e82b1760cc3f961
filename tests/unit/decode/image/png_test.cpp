#include <gtest/gtest.h>

#include "base/random.h"
#include "decode/image/grey.h"
#include "support/decode_region.h"

namespace penstock {
namespace {

Rect region_of(Draws& draws, int width, int height) {
  const int w = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(width)));
  const int h = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(height)));
  return {static_cast<int>(draws.below(static_cast<std::uint64_t>(width - w) + 1)),
          static_cast<int>(draws.below(static_cast<std::uint64_t>(height - h) + 1)), w, h};
}

Picture indexes(int width, int height, int depth) {
  Picture picture{width, height, 1, {}};
  Draws draws(4, 4, 4);
  for (int i = 0; i < width * height; ++i)
    picture.pixels.push_back(static_cast<std::uint8_t>(draws.below(std::uint64_t{1} << depth)));
  return picture;
}

// What a viewer without alpha would show.
Picture as_rgb(const Picture& picture) {
  Picture out{picture.width, picture.height, 3, {}};
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x)
      for (int c = 0; c < 3; ++c) out.pixels.push_back(picture.at(x, y, picture.channels < 3 ? 0 : c));
  return out;
}

struct Case {
  const char* name;
  int channels;
  PngOptions options;
};

class PngPixels : public testing::TestWithParam<Case> {};

TEST_P(PngPixels, come_out_exactly_also_by_region) {
  ImageDecoder decoder;
  Draws draws(11, 0, 0);
  for (const auto& [width, height] : {std::pair{1, 1}, {3, 2}, {33, 17}, {100, 61}}) {
    const Picture picture = make_picture(width, height, GetParam().channels, draws.next_u32());
    const Encoded encoded = encode_png(picture, GetParam().options);
    const auto full = decode_all(decoder, encoded);
    ASSERT_TRUE(full) << full.error().describe();
    EXPECT_EQ(full->pixels, as_rgb(picture).pixels);
    for (int i = 0; i < 20; ++i) {
      const Rect region = region_of(draws, width, height);
      const auto part = decode_region(decoder, encoded, region);
      ASSERT_TRUE(part) << part.error().describe();
      ASSERT_EQ(part->pixels, crop_of(*full, region).pixels);
      const auto grey = decode_region(decoder, encoded, region, PixelFormat::kGrey);
      ASSERT_TRUE(grey);
      for (int y = 0; y < region.height; ++y)
        for (int x = 0; x < region.width; ++x)
          ASSERT_EQ(grey->at(x, y, 0), luma(part->at(x, y, 0), part->at(x, y, 1), part->at(x, y, 2)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PngPixels,
                         testing::Values(Case{"grey", 1, {}}, Case{"grey_alpha", 2, {}}, Case{"rgb", 3, {}},
                                         Case{"rgba", 4, {}}, Case{"grey16", 1, {.bit_depth = 16}},
                                         Case{"rgb16", 3, {.bit_depth = 16}},
                                         Case{"rgba16", 4, {.bit_depth = 16}},
                                         Case{"interlaced", 3, {.interlaced = true}},
                                         Case{"interlaced16", 4, {.bit_depth = 16, .interlaced = true}},
                                         Case{"small_chunks", 3, {.idat_bytes = 100}}),
                         [](const auto& test) { return test.param.name; });

TEST(Png, palettes_of_every_depth_are_expanded) {
  ImageDecoder decoder;
  for (const int depth : {1, 2, 4, 8})
    for (const bool interlaced : {false, true}) {
      const Picture picture = indexes(19, 13, depth);
      const auto full = decode_all(
          decoder, encode_png(picture, {.bit_depth = depth, .interlaced = interlaced, .palette = true}));
      ASSERT_TRUE(full) << full.error().describe();
      for (int y = 0; y < 13; ++y)
        for (int x = 0; x < 19; ++x) {
          const int i = picture.at(x, y, 0);
          ASSERT_EQ(full->at(x, y, 0), i);
          ASSERT_EQ(full->at(x, y, 1), 255 - i);
          ASSERT_EQ(full->at(x, y, 2), static_cast<std::uint8_t>(7 * i));
        }
    }
}

TEST(Png, masks_keep_their_stored_values) {
  ImageDecoder decoder;
  for (const int depth : {1, 2, 4, 8})
    for (const bool interlaced : {false, true})
      for (const bool palette : {false, true}) {
        const Picture picture = indexes(19, 13, depth);
        const Encoded encoded =
            encode_png(picture, {.bit_depth = depth, .interlaced = interlaced, .palette = palette});
        const Rect region{3, 2, 11, 7};
        const auto mask = decode_region(decoder, encoded, region, PixelFormat::kIndex);
        ASSERT_TRUE(mask) << mask.error().describe();
        EXPECT_EQ(mask->pixels, crop_of(picture, region).pixels)
            << depth << " " << interlaced << " " << palette;
      }
}

TEST(Png, coloured_and_deep_pictures_are_no_masks) {
  ImageDecoder decoder;
  for (const auto& [channels, depth] : {std::pair{3, 8}, {4, 8}, {2, 8}, {1, 16}}) {
    const auto mask = decode_all(decoder, encode_png(make_picture(9, 9, channels, 1), {.bit_depth = depth}),
                                 PixelFormat::kIndex);
    ASSERT_FALSE(mask);
    EXPECT_EQ(mask.error().code, ErrorCode::kUnsupported);
  }
}

TEST(Png, cut_at_every_place_is_an_error) {
  const Encoded whole = encode_png(make_picture(20, 15, 3, 2), {.idat_bytes = 100});
  ImageDecoder decoder;
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(decode_all(decoder, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}))
        << size;
  EXPECT_TRUE(decode_all(decoder, whole));
}

// PNG has a checksum in every chunk: no flipped bit of the pixels may pass, wherever the region is.
TEST(Png, flipped_bits_of_the_pixel_data_are_always_noticed) {
  const Encoded whole = encode_png(make_picture(30, 25, 3, 2));
  ImageDecoder decoder;
  Draws draws(5, 0, 0);
  int checked = 0;
  for (int i = 0; i < 2000; ++i) {
    Encoded bytes = whole;
    const std::size_t at = 33 + draws.below(bytes.size() - 33 - 12);  // between IHDR and IEND
    bytes[at] ^= std::byte(1u << draws.below(8));
    const Rect region = region_of(draws, 30, 25);
    const auto part = decode_region(decoder, bytes, region);
    ASSERT_FALSE(part) << "bit of byte " << at << " of " << whole.size() << ", region of " << region.height
                       << " rows from " << region.y;
    ++checked;
  }
  EXPECT_EQ(checked, 2000);
}

TEST(Png, flipped_bits_anywhere_never_crash) {
  for (const PngOptions& options :
       {PngOptions{}, PngOptions{.interlaced = true}, PngOptions{.bit_depth = 16}}) {
    const Encoded whole = encode_png(make_picture(20, 15, 3, 2), options);
    ImageDecoder decoder(Limits{.image_pixels = 1 << 20});
    for (std::size_t bit = 0; bit < whole.size() * 8; bit += bit < 600 ? 1 : 7) {
      Encoded bytes = whole;
      bytes[bit / 8] ^= std::byte(1u << bit % 8);
      (void)decode_all(decoder, bytes);
    }
    EXPECT_TRUE(decode_all(decoder, whole)) << "the decoder recovers";
  }
}

TEST(Png, huge_claims_are_refused_at_the_header) {
  Encoded bytes = encode_png(make_picture(8, 8, 3, 2));
  for (const std::size_t at : {18u, 19u, 22u, 23u}) bytes[at] = std::byte{0xFF};  // 65535 x 65535
  ImageDecoder decoder;
  EXPECT_FALSE(decoder.open(bytes));
}

}  // namespace
}  // namespace penstock
