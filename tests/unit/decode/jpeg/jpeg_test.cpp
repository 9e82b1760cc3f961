#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "support/decode_region.h"

namespace penstock {
namespace {

Rect random_region(Draws& draws, int width, int height) {
  const int w = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(width)));
  const int h = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(height)));
  return {static_cast<int>(draws.below(static_cast<std::uint64_t>(width - w) + 1)),
          static_cast<int>(draws.below(static_cast<std::uint64_t>(height - h) + 1)), w, h};
}

struct Case {
  const char* name;
  int channels;
  JpegOptions options;
};

const Case kCases[] = {
    {"s444", 3, {.horizontal = 1, .vertical = 1}},
    {"s422", 3, {.horizontal = 2, .vertical = 1}},
    {"s420", 3, {.horizontal = 2, .vertical = 2}},
    {"s440", 3, {.horizontal = 1, .vertical = 2}},
    {"s411", 3, {.horizontal = 4, .vertical = 1}},
    {"s410", 3, {.horizontal = 4, .vertical = 2}},
    {"grey", 1, {}},
    {"progressive420", 3, {.progressive = true}},
    {"progressive444", 3, {.horizontal = 1, .vertical = 1, .progressive = true}},
    {"progressive_grey", 1, {.progressive = true}},
    {"restart420", 3, {.restart_rows = 1}},
    {"restart422", 3, {.horizontal = 2, .vertical = 1, .restart_rows = 2}},
    {"restart_every_mcu444", 3, {.horizontal = 1, .vertical = 1, .restart_mcus = 1}},
    {"restart_within_rows420", 3, {.restart_mcus = 3}},
    {"restart_within_rows440", 3, {.horizontal = 1, .vertical = 2, .restart_mcus = 5}},
    {"restart_within_rows411", 3, {.horizontal = 4, .vertical = 1, .restart_mcus = 2}},
    {"restart_within_rows410", 3, {.horizontal = 4, .vertical = 2, .restart_mcus = 2}},
    {"restart_after_some_rows420", 3, {.restart_mcus = 20}},
    {"restart_grey", 1, {.restart_mcus = 3}},
    {"restart_cmyk", 4, {.horizontal = 1, .vertical = 1, .restart_mcus = 4}},
    {"restart_ycck420", 4, {.restart_mcus = 2, .ycck = true}},
    {"restart_progressive420", 3, {.progressive = true, .restart_mcus = 3}},
    {"arithmetic420", 3, {.arithmetic = true}},
    {"cmyk", 4, {.horizontal = 1, .vertical = 1}},
    {"ycck420", 4, {.ycck = true}},
};

class JpegRegion : public testing::TestWithParam<Case> {};

TEST_P(JpegRegion, is_identical_to_full_decode_and_crop) {
  Draws draws(2024, 0, 0);
  ImageDecoder decoder;
  const int sizes[][2] = {{1, 1}, {7, 5}, {16, 16}, {17, 33}, {63, 65}, {129, 97}, {250, 131}};
  for (const auto& [width, height] : sizes) {
    const Encoded encoded =
        encode_jpeg(make_picture(width, height, GetParam().channels, draws.next_u32()), GetParam().options);
    for (const PixelFormat format : {PixelFormat::kRgbx, PixelFormat::kGrey}) {
      const auto full = decode_all(decoder, encoded, format);
      ASSERT_TRUE(full) << full.error().describe();
      ASSERT_EQ(full->width, width);
      ASSERT_EQ(full->height, height);
      for (int i = 0; i < 40; ++i) {
        const Rect region = random_region(draws, width, height);
        const auto part = decode_region(decoder, encoded, region, format);
        ASSERT_TRUE(part) << part.error().describe();
        ASSERT_EQ(part->pixels, crop_of(*full, region).pixels)
            << width << "x" << height << " region " << region.x << "," << region.y << " " << region.width
            << "x" << region.height;
      }
    }
  }
}

TEST_P(JpegRegion, is_near_what_was_encoded) {
  JpegOptions options = GetParam().options;
  options.quality = 98;
  // Flat colour: neither subsampling nor the transform may move it.
  Picture picture{40, 30, GetParam().channels, {}};
  const std::uint8_t colour[4] = {200, 90, 40, 255};
  for (int i = 0; i < 40 * 30; ++i)
    for (int c = 0; c < picture.channels; ++c) picture.pixels.push_back(colour[c]);
  ImageDecoder decoder;
  const auto decoded = decode_all(decoder, encode_jpeg(picture, options));
  ASSERT_TRUE(decoded);
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(decoded->at(20, 15, c), picture.channels == 1 ? 200 : colour[c], 3);
}

INSTANTIATE_TEST_SUITE_P(Encodings, JpegRegion, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(Jpeg, scaled_regions_have_the_promised_size_and_similar_pixels) {
  ImageDecoder decoder;
  Picture picture{200, 120, 3, {}};
  for (int y = 0; y < 120; ++y)
    for (int x = 0; x < 200; ++x)
      for (int c = 0; c < 3; ++c) picture.pixels.push_back(static_cast<std::uint8_t>(x + c * 10));
  const Encoded encoded = encode_jpeg(picture);
  Draws draws(1, 2, 3);
  for (const int scale : {2, 4, 8})
    for (int i = 0; i < 50; ++i) {
      const Rect region = random_region(draws, 200, 120);
      const auto part = decode_region(decoder, encoded, region, PixelFormat::kRgbx, scale);
      ASSERT_TRUE(part) << part.error().describe();
      const int x0 = region.x / scale, x1 = (region.x + region.width + scale - 1) / scale;
      ASSERT_EQ(part->width, x1 - x0);
      for (int x = 0; x < part->width; ++x) ASSERT_NEAR(part->at(x, 0, 0), (x0 + x + 0.5) * scale, 12);
    }
}

TEST(Jpeg, exif_orientation_is_read_in_both_byte_orders) {
  ImageDecoder decoder;
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool big : {false, true}) {
      const auto header = decoder.open(
          encode_jpeg(make_picture(8, 8, 3, 1), {.orientation = orientation, .big_endian_exif = big}));
      ASSERT_TRUE(header);
      EXPECT_EQ(header->orientation, orientation);
    }
  EXPECT_EQ(decoder.open(encode_jpeg(make_picture(8, 8, 3, 1)))->orientation, 1);
  EXPECT_EQ(decoder.open(encode_jpeg(make_picture(8, 8, 3, 1), {.orientation = 9}))->orientation, 1);
}

TEST(Jpeg, damaged_exif_is_upright_and_never_crashes) {
  ImageDecoder decoder;
  const Encoded whole = encode_jpeg(make_picture(8, 8, 3, 1), {.orientation = 6});
  for (std::size_t at = 2; at < 60; ++at)
    for (int value = 0; value < 256; value += 15) {
      Encoded bytes = whole;
      bytes[at] = std::byte(value);
      const auto header = decoder.open(bytes);
      if (header) {
        EXPECT_GE(header->orientation, 1);
        EXPECT_LE(header->orientation, 8);
      }
    }
}

class JpegDamage : public testing::TestWithParam<Case> {};

TEST_P(JpegDamage, cut_at_every_place_is_an_error) {
  const Encoded whole = encode_jpeg(make_picture(50, 40, GetParam().channels, 5), GetParam().options);
  ImageDecoder decoder;
  for (std::size_t size = 0; size + 2 <= whole.size(); ++size) {
    const auto decoded =
        decode_all(decoder, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_FALSE(decoded) << size << " of " << whole.size();
  }
  EXPECT_TRUE(decode_all(decoder, whole)) << "the decoder recovers";
}

TEST_P(JpegDamage, cut_with_an_end_marker_put_back_is_an_error) {
  const Encoded whole = encode_jpeg(make_picture(50, 40, GetParam().channels, 5), GetParam().options);
  ImageDecoder decoder;
  int accepted = 0;
  for (std::size_t size = whole.size() / 3; size + 40 < whole.size(); size += 7) {
    Encoded bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    bytes.push_back(std::byte{0xFF});
    bytes.push_back(std::byte{0xD9});
    if (decode_all(decoder, bytes)) ++accepted;
  }
  // A progressive file may end after any scan and be whole; arithmetic coding reads zeros on.
  if (!GetParam().options.progressive && !GetParam().options.arithmetic) {
    EXPECT_EQ(accepted, 0);
  }
}

TEST_P(JpegDamage, flipped_bits_never_crash_and_regions_stay_in_bounds) {
  const Encoded whole = encode_jpeg(make_picture(50, 40, GetParam().channels, 5), GetParam().options);
  ImageDecoder decoder(Limits{.image_pixels = 1 << 20});
  Draws draws(7, 0, 0);
  for (int i = 0; i < 600; ++i) {
    Encoded bytes = whole;
    for (std::uint64_t flips = 1 + draws.below(3); flips > 0; --flips)
      bytes[draws.below(i % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 620))] ^=
          std::byte(1u << draws.below(8));
    const auto header = decoder.open(bytes);
    if (!header) continue;
    const Rect region = random_region(draws, header->width, header->height);
    (void)decode_region(decoder, bytes, region);
  }
  EXPECT_TRUE(decode_all(decoder, whole)) << "the decoder recovers";
}

INSTANTIATE_TEST_SUITE_P(Encodings, JpegDamage, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(Jpeg, claim_of_65500_squared_pixels_is_refused_at_the_header) {
  Encoded bytes = encode_jpeg(make_picture(16, 16, 3, 1));
  for (std::size_t at = 2; at + 9 < bytes.size(); ++at)
    if (bytes[at] == std::byte{0xFF} && bytes[at + 1] == std::byte{0xC0}) {
      bytes[at + 5] = bytes[at + 7] = std::byte{0xFF};
      bytes[at + 6] = bytes[at + 8] = std::byte{0xDC};
      break;
    }
  ImageDecoder decoder;
  const auto header = decoder.open(bytes);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(header.error().message.find("65500x65500"), std::string::npos) << header.error().message;
}

// libjpeg keeps tables from one image to the next; a sample must not get those of another.
TEST(Jpeg, a_file_without_tables_is_refused_also_after_one_with_tables) {
  const Encoded whole = encode_jpeg(make_picture(16, 16, 3, 1));
  Encoded bare;
  for (std::size_t at = 0; at < whole.size();) {
    const auto marker = std::to_integer<unsigned>(whole[at + 1]);
    const std::size_t length = marker == 0xD8 ? 2
                                              : 2 + (std::to_integer<std::size_t>(whole[at + 2]) << 8 |
                                                     std::to_integer<std::size_t>(whole[at + 3]));
    const std::size_t end = marker == 0xDA ? whole.size() : at + length;
    if (marker != 0xDB)
      bare.insert(bare.end(), whole.begin() + static_cast<std::ptrdiff_t>(at),
                  whole.begin() + static_cast<std::ptrdiff_t>(end));
    at = end;
  }
  ImageDecoder fresh, used;
  ASSERT_TRUE(decode_all(used, whole));
  EXPECT_FALSE(decode_all(fresh, bare));
  EXPECT_FALSE(decode_all(used, bare)) << "decoded with the tables of the image before";
}

// A progressive file may lack its last scans. libjpeg then smooths over block borders, by neighbours
// that a region does not have.
TEST(Jpeg, regions_of_unfinished_progressive_files_equal_the_whole) {
  const Encoded whole =
      encode_jpeg(make_picture(70, 50, 3, 9), {.horizontal = 1, .vertical = 1, .progressive = true});
  std::vector<std::size_t> scans;
  for (std::size_t at = 0; at + 1 < whole.size(); ++at)
    if (whole[at] == std::byte{0xFF} && whole[at + 1] == std::byte{0xDA}) scans.push_back(at);
  ImageDecoder decoder;
  Draws draws(3, 1, 4);
  for (std::size_t keep = 1; keep < scans.size(); ++keep) {
    Encoded bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(scans[keep]));
    // The tables of the next scan may stand before it: harmless.
    bytes.push_back(std::byte{0xFF});
    bytes.push_back(std::byte{0xD9});
    const auto full = decode_all(decoder, bytes);
    if (!full) continue;
    for (int i = 0; i < 20; ++i) {
      const Rect region = random_region(draws, 70, 50);
      const auto part = decode_region(decoder, bytes, region);
      ASSERT_TRUE(part) << part.error().describe();
      ASSERT_EQ(part->pixels, crop_of(*full, region).pixels) << keep << " scans";
    }
  }
}

TEST(Jpeg, thousands_of_scans_are_refused) {
  // The last scan of a progressive file, again and again.
  const Encoded whole = encode_jpeg(make_picture(16, 16, 1, 1), {.progressive = true});
  std::size_t last = 0;
  for (std::size_t at = 0; at + 1 < whole.size(); ++at)
    if (whole[at] == std::byte{0xFF} && whole[at + 1] == std::byte{0xDA}) last = at;
  Encoded bytes(whole.begin(), whole.end() - 2);
  for (int i = 0; i < 3000; ++i)
    bytes.insert(bytes.end(), whole.begin() + static_cast<std::ptrdiff_t>(last), whole.end() - 2);
  bytes.insert(bytes.end(), whole.end() - 2, whole.end());
  ImageDecoder decoder;
  EXPECT_FALSE(decode_all(decoder, bytes));
}

// Narrow bands of coefficients make scans that hold next to nothing, and each visits every block.
Encoded with_scans(int side, int scans) {
  return encode_jpeg(flat_picture(side, side, 1, 77), {.quality = 75, .scans = scans});
}

TEST(Jpeg, many_scans_are_read_of_a_small_picture_and_refused_of_a_large_one) {
  ImageDecoder decoder;
  EXPECT_TRUE(decode_all(decoder, with_scans(64, 499)));
  EXPECT_TRUE(decode_all(decoder, with_scans(1600, 30)));
  const auto refused = decode_all(decoder, with_scans(1600, 499));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("too many scans for 1600x1600 pixels"), std::string::npos)
      << refused.error().message;
}

TEST(Jpeg, progressive_says_what_it_needs_to_work) {
  ImageDecoder decoder;
  EXPECT_LE(decoder.open(encode_jpeg(make_picture(100, 50, 3, 1)))->working_bytes, 128u << 10);
  EXPECT_GE(decoder.open(encode_jpeg(make_picture(100, 50, 3, 1), {.progressive = true}))->working_bytes,
            100u * 50 * 2);
}

}  // namespace
}  // namespace penstock
