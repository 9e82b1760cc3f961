// A region of a JPEG with restart markers is decoded without what lies above and beside it: with the pixels of the
// whole, and without accepting more damage than the record says (docs/decisions/0038).
#include "decode/jpeg/jpeg_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/decode_region.h"

namespace penstock {
namespace {

constexpr int kWidth = 203, kHeight = 141;

using Random = std::mt19937;

int below(Random& random, int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); }

Rect random_region(Random& random, int width = kWidth, int height = kHeight) {
  const int w = 1 + below(random, width), h = 1 + below(random, height);
  return {below(random, width - w + 1), below(random, height - h + 1), w, h};
}

std::size_t scan_begins(const Encoded& jpeg) {
  for (std::size_t at = 2; at + 4 < jpeg.size();) {
    const std::size_t length =
        2 + (std::to_integer<std::size_t>(jpeg[at + 2]) << 8 | std::to_integer<std::size_t>(jpeg[at + 3]));
    at += length;
    if (jpeg[at - length + 1] == std::byte{0xDA}) return at;
  }
  return jpeg.size();
}

bool is_restart(const Encoded& jpeg, std::size_t at) {
  return jpeg[at] == std::byte{0xFF} && (jpeg[at + 1] & std::byte{0xF8}) == std::byte{0xD0};
}

std::vector<std::size_t> restarts_of(const Encoded& jpeg) {
  std::vector<std::size_t> out;
  for (std::size_t at = scan_begins(jpeg); at + 1 < jpeg.size(); ++at)
    if (is_restart(jpeg, at)) out.push_back(at);
  return out;
}

// Scaled pixels depend on neighbours in another way at every scale. The same picture without restart markers has the
// same coefficients, and is decoded from its first MCU on.
TEST(JpegWindow, scaled_regions_equal_those_of_the_image_without_restart_markers) {
  Random random(5);
  ImageDecoder decoder, other;
  for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}}) {
    JpegOptions options{.horizontal = across, .vertical = down};
    const Picture picture = make_picture(kWidth, kHeight, 3, random());
    const Encoded without = encode_jpeg(picture, options);
    for (const int mcus : {1, 4, 9, 60}) {
      options.restart_mcus = mcus;
      const Encoded with = encode_jpeg(picture, options);
      for (const int scale : {1, 2, 4, 8})
        for (int i = 0; i < 25; ++i) {
          const Rect region = random_region(random);
          const auto part = decode_region(decoder, with, region, PixelFormat::kRgbx, scale);
          const auto expected = decode_region(other, without, region, PixelFormat::kRgbx, scale);
          ASSERT_TRUE(part && expected);
          ASSERT_EQ(part->pixels, expected->pixels)
              << across << 'x' << down << " interval " << mcus << " scale " << scale << " region " << region.x
              << ',' << region.y << ' ' << region.width << 'x' << region.height;
        }
    }
  }
}

TEST(JpegWindow, pixels_equal_libjpegs_own) {
  Random random(6);
  ImageDecoder decoder;
  for (const int interval : {2, 7}) {
    const Encoded encoded = encode_jpeg(make_picture(kWidth, kHeight, 3, 4), {.restart_mcus = interval});
    Picture whole{kWidth, kHeight, 3, {}};
    ASSERT_TRUE(decode_by_libjpeg(encoded, {}, &whole.pixels));
    for (int i = 0; i < 100; ++i) {
      const Rect region = random_region(random);
      const auto part = decode_region(decoder, encoded, region);
      ASSERT_TRUE(part) << part.error().describe();
      ASSERT_EQ(part->pixels, crop_of(whole, region).pixels);
    }
  }
}

// What is passed over is not decoded: nonsense there is not noticed, and changes no pixel.
TEST(JpegWindow, nonsense_above_and_beside_the_region_is_passed_over) {
  const Encoded whole = encode_jpeg(make_picture(kWidth, kHeight, 3, 8), {.restart_mcus = 4});
  const std::vector<std::size_t> restarts = restarts_of(whole);
  constexpr std::size_t kIntervalsPerRow = 13 / 4 + 1;  // of 13 MCUs; the last reaches into the next row
  const Rect region{100, 70, 40, 30};                  // MCU rows 3 to 6, columns 5 to 9
  ImageDecoder decoder;
  const auto expected = decode_region(decoder, whole, region);
  ASSERT_TRUE(expected);
  ASSERT_GT(restarts.size(), 2 * kIntervalsPerRow);
  Encoded above = whole;
  std::fill(above.begin() + static_cast<std::ptrdiff_t>(scan_begins(whole)),
            above.begin() + static_cast<std::ptrdiff_t>(restarts[0]), std::byte{0x55});
  std::fill(above.begin() + static_cast<std::ptrdiff_t>(restarts[3] + 2),
            above.begin() + static_cast<std::ptrdiff_t>(restarts[4]), std::byte{0xAA});
  const auto part = decode_region(decoder, above, region);
  ASSERT_TRUE(part) << part.error().describe();
  EXPECT_EQ(part->pixels, expected->pixels);
  EXPECT_FALSE(decode_all(decoder, above));
}

TEST(JpegWindow, missing_doubled_and_swapped_markers_before_the_region_are_errors) {
  const Encoded whole = encode_jpeg(make_picture(kWidth, kHeight, 3, 8), {.restart_mcus = 4});
  const std::vector<std::size_t> restarts = restarts_of(whole);
  const Rect region{150, 120, 40, 20};
  ImageDecoder decoder;
  ASSERT_TRUE(decode_region(decoder, whole, region));
  for (std::size_t n = 0; n + 8 < restarts.size(); ++n) {
    const auto marker = static_cast<std::ptrdiff_t>(restarts[n]);
    Encoded missing = whole;
    missing.erase(missing.begin() + marker, missing.begin() + marker + 2);
    EXPECT_FALSE(decode_region(decoder, missing, region)) << n;
    Encoded doubled = whole;
    doubled.insert(doubled.begin() + marker, whole.begin() + marker, whole.begin() + marker + 2);
    EXPECT_FALSE(decode_region(decoder, doubled, region)) << n;
    Encoded swapped = whole;
    std::swap(swapped[restarts[n] + 1], swapped[restarts[n + 1] + 1]);
    EXPECT_FALSE(decode_region(decoder, swapped, region)) << n;
    Encoded foreign = whole;
    foreign[restarts[n] + 1] = std::byte{0xC4};
    EXPECT_FALSE(decode_region(decoder, foreign, region)) << n;
  }
}

TEST(JpegWindow, padding_before_markers_is_allowed) {
  Encoded padded = encode_jpeg(make_picture(kWidth, kHeight, 3, 8), {.restart_mcus = 4});
  ImageDecoder decoder;
  const Rect region{70, 60, 80, 50};
  const auto expected = decode_region(decoder, padded, region);
  const std::vector<std::size_t> restarts = restarts_of(padded);
  for (auto at = restarts.rbegin(); at != restarts.rend(); ++at)
    padded.insert(padded.begin() + static_cast<std::ptrdiff_t>(*at), 3, std::byte{0xFF});
  const auto part = decode_region(decoder, padded, region);
  ASSERT_TRUE(part && expected);
  EXPECT_EQ(part->pixels, expected->pixels);
}

// An interval that is entered is decoded to its end, so damage in it is seen about as often as in a whole image.
TEST(JpegWindow, accepted_damage_within_the_intervals_of_the_region_is_what_libjpeg_accepts) {
  Random random(12);
  ImageDecoder decoder;
  // One interval per row and a region of the full width: every interval of its rows is entered.
  const Rect region{0, 0, kWidth, kHeight - 20};
  int accepted = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    Encoded bytes = encode_jpeg(make_picture(kWidth, kHeight, 3, 9), {.restart_mcus = 13});
    const std::vector<std::size_t> restarts = restarts_of(bytes);
    const std::size_t from = scan_begins(bytes), range = restarts[6] - from;
    bytes[from + random() % range] ^= static_cast<std::byte>(1u << random() % 8);
    const auto part = decode_region(decoder, bytes, region);
    (part ? accepted : refused) += 1;
    if (!part) continue;
    Picture whole{kWidth, kHeight, 3, {}};
    ASSERT_TRUE(decode_by_libjpeg(bytes, {}, &whole.pixels)) << "round " << round;
    ASSERT_EQ(part->pixels, crop_of(whole, region).pixels) << "round " << round;
  }
  EXPECT_GT(refused, 50);
}

TEST(JpegWindow, regions_of_damaged_files_equal_the_whole_where_that_is_accepted) {
  Random random(13);
  ImageDecoder decoder;
  int compared = 0;
  for (int round = 0; round < 1500; ++round) {
    Encoded bytes = encode_jpeg(make_picture(61, 47, 3, 9), {.restart_mcus = 1 + below(random, 6)});
    for (int flips = 1 + below(random, 3); flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
    const auto header = decoder.open(bytes);
    if (!header || header->width > 1000 || header->height > 1000) continue;
    const Rect region = random_region(random, header->width, header->height);
    const auto part = decode_region(decoder, bytes, region);
    const auto whole = decode_all(decoder, bytes);
    if (!whole) continue;
    ++compared;
    ASSERT_TRUE(part) << "round " << round << ' ' << part.error().describe();
    ASSERT_EQ(part->pixels, crop_of(*whole, region).pixels) << "round " << round;
  }
  EXPECT_GT(compared, 100);
}

std::vector<unsigned> markers_of(const std::vector<std::byte>& header) {
  std::vector<unsigned> out;
  for (std::size_t at = 2; at + 4 <= header.size();) {
    out.push_back(std::to_integer<unsigned>(header[at + 1]));
    at += 2 + (std::to_integer<std::size_t>(header[at + 2]) << 8 | std::to_integer<std::size_t>(header[at + 3]));
  }
  return out;
}

TEST(JpegWindow, header_has_the_tables_and_colours_of_the_image_and_the_size_of_the_window) {
  const Encoded jpeg = encode_jpeg(make_picture(kWidth, kHeight, 4, 8), {.restart_mcus = 4, .orientation = 6});
  const ConstBytes whole = ConstBytes(jpeg).first(scan_begins(jpeg));
  std::vector<std::byte> header;
  ASSERT_TRUE(write_window_header(whole, {16, 16, 48, 32}, header));
  std::vector<unsigned> expected = markers_of({whole.begin(), whole.end()});
  EXPECT_EQ(std::erase(expected, 0xE1u), 1u);  // EXIF
  EXPECT_EQ(markers_of(header), expected);
  ImageDecoder decoder;
  header.insert(header.end(), {std::byte{0xFF}, std::byte{0xD9}});
  const auto opened = decoder.open(header);
  ASSERT_TRUE(opened) << opened.error().describe();
  EXPECT_EQ(opened->width, 48);
  EXPECT_EQ(opened->height, 32);
}

TEST(JpegWindow, header_that_is_cut_or_has_a_marker_that_should_not_be_there_is_left_to_libjpeg) {
  const Encoded jpeg = encode_jpeg(make_picture(kWidth, kHeight, 3, 8), {.restart_mcus = 4});
  const std::size_t scan = scan_begins(jpeg);
  std::vector<std::byte> header;
  for (std::size_t size = 0; size < scan; ++size)
    EXPECT_FALSE(write_window_header(ConstBytes(jpeg).first(size), {16, 16, 48, 32}, header)) << size;
  for (const unsigned marker : {0x01u, 0xC2u, 0xC9u, 0xD0u, 0xD8u, 0xD9u, 0xDCu, 0xF0u}) {
    Encoded odd = jpeg;
    odd[3] = std::byte(marker);
    EXPECT_FALSE(write_window_header(ConstBytes(odd).first(scan), {16, 16, 48, 32}, header)) << marker;
  }
}

}  // namespace
}  // namespace penstock
