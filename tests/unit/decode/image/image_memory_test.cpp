// What image libraries allocate by themselves is reserved before they begin: never less than they take.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <random>

#include "decode/jpeg/jpeg_restarts.h"
#include "heap_peak.h"
#include "support/decode_region.h"

namespace penstock {
namespace {

using Random = std::mt19937;

int between(Random& random, int least, int most) {
  return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
}

struct Layout {
  int width = 0, height = 0;
  int components = 3;
  std::array<std::array<int, 2>, 4> sampling{};
  bool progressive = false, arithmetic = false;
  int restart_mcus = 0;
};

// Sampling factors of a component divide the largest ones: libjpeg knows no others.
Layout random_layout(Random& random) {
  Layout layout;
  layout.width = random() % 8 == 0 ? between(random, 3000, 30000) : between(random, 1, 400);
  layout.height = layout.width < 1000 && random() % 8 == 0 ? between(random, 3000, 60000) : between(random, 1, 400);
  if (layout.height > 1000) layout.width = between(random, 1, 20);
  layout.components = std::array{1, 3, 3, 4}[random() % 4];
  int blocks = 0;
  do {
    blocks = 0;
    const int widest = between(random, 1, 4), tallest = between(random, 1, 4);
    for (int c = 0; c < layout.components; ++c) {
      auto& [across, down] = layout.sampling[static_cast<std::size_t>(c)];
      do {
        across = between(random, 1, widest);
        down = between(random, 1, tallest);
      } while (widest % across != 0 || tallest % down != 0);
      if (c == 0) across = widest, down = tallest;
      blocks += across * down;
    }
    std::swap(layout.sampling[0], layout.sampling[random() % static_cast<unsigned>(layout.components)]);
  } while (blocks > C_MAX_BLOCKS_IN_MCU);
  layout.progressive = random() % 2 == 0;
  layout.arithmetic = random() % 5 == 0;
  return layout;
}

Encoded encode(const Layout& layout) {
  return encode_jpeg(flat_picture(layout.width, layout.height, layout.components, 90),
                     {.quality = 75,
                      .sampling = {layout.sampling.begin(), layout.sampling.end()},
                      .progressive = layout.progressive,
                      .arithmetic = layout.arithmetic,
                      .restart_mcus = layout.restart_mcus});
}

struct Used {
  std::uint64_t reserved = 0;
  std::int64_t peak = 0;
  bool is_decoded = false;
};

// The decoder is one that has decoded before: what it keeps for good is not the sample's.
Used decode_counted(ImageDecoder& decoder, const Encoded& encoded, int scale = 1) {
  Used used;
  const auto first = decoder.open(encoded);
  if (!first) return used;
  std::vector<std::byte> buffer(
      decoder.buffer_bytes({{0, 0, first->width, first->height}, PixelFormat::kRgbx, scale}));
  const HeapPeak peak;
  const auto header = decoder.open(encoded);
  if (!header) return used;
  const DecodeRequest request{{0, 0, header->width, header->height}, PixelFormat::kRgbx, scale};
  used.is_decoded = decoder.decode(request, buffer).has_value();
  used.peak = peak.bytes();
  used.reserved = header->working_bytes;
  return used;
}

TEST(ImageMemory, libjpeg_takes_at_most_what_is_reserved_for_all_sampling_factors) {
  if (!HeapPeak::is_counted()) GTEST_SKIP() << "the sanitizer counts for itself";
  Random random(5);
  ImageDecoder decoder;
  ASSERT_TRUE(decode_all(decoder, encode_jpeg(make_picture(16, 16, 3, 1))));
  int decoded = 0;
  for (int round = 0; round < 300; ++round) {
    const Layout layout = random_layout(random);
    const int scale = 1 << (random() % 6 == 0 ? between(random, 1, 3) : 0);
    const Used used = decode_counted(decoder, encode(layout), scale);
    decoded += used.is_decoded ? 1 : 0;
    ASSERT_LE(used.peak, static_cast<std::int64_t>(used.reserved))
        << "round " << round << ": " << layout.width << "x" << layout.height << ", " << layout.components
        << " components, first " << layout.sampling[0][0] << "x" << layout.sampling[0][1] << ", second "
        << layout.sampling[1][0] << "x" << layout.sampling[1][1]
        << (layout.progressive ? ", progressive" : "") << ", scale " << scale;
  }
  EXPECT_GT(decoded, 60);
}

TEST(ImageMemory, libjpeg_takes_at_most_what_is_reserved_for_a_region_that_is_entered_at_a_restart_marker) {
  if (!HeapPeak::is_counted()) GTEST_SKIP() << "the sanitizer counts for itself";
  Random random(15);
  ImageDecoder decoder;
  ASSERT_TRUE(decode_region(decoder, encode_jpeg(make_picture(64, 64, 3, 1), {.restart_mcus = 1}), {0, 0, 8, 8}));
  for (int round = 0; round < 200; ++round) {
    Layout layout = random_layout(random);
    layout.progressive = layout.arithmetic = false;
    layout.restart_mcus = between(random, 1, 30);
    const Encoded encoded = encode(layout);
    const int width = between(random, 1, layout.width), height = between(random, 1, layout.height);
    const DecodeRequest request{
        {between(random, 0, layout.width - width), between(random, 0, layout.height - height), width, height},
        PixelFormat::kRgbx,
        1 << between(random, 0, 3)};
    ASSERT_TRUE(decoder.open(encoded));
    std::vector<std::byte> buffer(decoder.buffer_bytes(request));
    const HeapPeak peak;
    const auto header = decoder.open(encoded);
    ASSERT_TRUE(header && decoder.decode(request, buffer));
    ASSERT_LE(peak.bytes(), static_cast<std::int64_t>(header->working_bytes))
        << "round " << round << ": " << layout.width << "x" << layout.height << ", region " << width << "x" << height;
  }
}

TEST(ImageMemory, rewriting_a_jpeg_takes_at_most_what_is_reserved) {
  if (!HeapPeak::is_counted()) GTEST_SKIP() << "the sanitizer counts for itself";
  Random random(16);
  ASSERT_TRUE(rewrite_with_restarts(encode_jpeg(make_picture(16, 16, 3, 1))));
  int rewritten = 0;
  for (int round = 0; round < 100; ++round) {
    Encoded encoded = encode(random_layout(random));
    if (round % 10 == 0) encoded = encode_jpeg(make_picture(700, 500, 3, random()), {.optimised_tables = true});
    const auto reserved = restart_rewriting_bytes(encoded);
    ASSERT_TRUE(reserved);
    const HeapPeak peak;
    rewritten += rewrite_with_restarts(encoded).has_value() ? 1 : 0;
    ASSERT_LE(peak.bytes(), static_cast<std::int64_t>(*reserved)) << "round " << round;
  }
  EXPECT_GT(rewritten, 30);
}

// The one that was missing: columns of blocks are padded to whole MCUs, here from 1 to 32 pixels.
TEST(ImageMemory, a_progressive_column_with_chroma_of_a_quarter_is_reserved_with_its_padding) {
  Layout layout{1, 60000, 3, {{{4, 1}, {1, 1}, {1, 1}, {1, 1}}}, true, false};
  ImageDecoder decoder;
  const auto header = decoder.open(encode(layout));
  ASSERT_TRUE(header);
  EXPECT_GE(header->working_bytes, 2u * 60000 * (32 + 8 + 8));
}

TEST(ImageMemory, what_is_reserved_for_usual_photographs_is_little_more_than_what_is_taken) {
  if (!HeapPeak::is_counted()) GTEST_SKIP() << "the sanitizer counts for itself";
  ImageDecoder decoder;
  for (const bool progressive : {false, true}) {
    const Encoded encoded = encode_jpeg(make_picture(1000, 700, 3, 1), {.progressive = progressive});
    ASSERT_TRUE(decode_all(decoder, encoded));
    const Used used = decode_counted(decoder, encoded);
    EXPECT_LE(used.peak, static_cast<std::int64_t>(used.reserved));
    EXPECT_GE(used.peak * 5 / 4 + (100 << 10), static_cast<std::int64_t>(used.reserved));
  }
}

TEST(ImageMemory, libpng_takes_at_most_what_is_reserved) {
  if (!HeapPeak::is_counted()) GTEST_SKIP() << "the sanitizer counts for itself";
  Random random(6);
  ImageDecoder decoder;
  ASSERT_TRUE(decode_all(decoder, encode_png(make_picture(16, 16, 3, 1))));
  for (int round = 0; round < 100; ++round) {
    const int width = round % 10 == 0 ? between(random, 2000, 20000) : between(random, 1, 300);
    PngOptions options;
    options.bit_depth = round % 2 == 0 ? 8 : 16;
    options.interlaced = random() % 3 == 0;
    const Encoded encoded =
        encode_png(make_picture(width, between(random, 1, 40), between(random, 1, 4), random()), options);
    const Used used = decode_counted(decoder, encoded);
    ASSERT_TRUE(used.is_decoded);
    ASSERT_LE(used.peak, static_cast<std::int64_t>(used.reserved)) << "width " << width;
  }
}

TEST(ImageMemory, libwebp_takes_at_most_what_is_reserved) {
  if (!HeapPeak::is_counted()) GTEST_SKIP() << "the sanitizer counts for itself";
  if (encode_webp(make_picture(4, 4, 3, 1), true).empty()) GTEST_SKIP() << "a build without WebP";
  Random random(7);
  ImageDecoder decoder;
  ASSERT_TRUE(decode_all(decoder, encode_webp(make_picture(16, 16, 3, 1), true)));
  for (int round = 0; round < 120; ++round) {
    const int width = between(random, 1, round % 10 == 0 ? 2000 : 300), height = between(random, 1, 200);
    const Encoded encoded =
        encode_webp(make_picture(width, height, round % 3 == 0 ? 4 : 3, random()), round % 2 == 0);
    if (encoded.empty()) continue;  // channels that the encoder does not take
    const Used used = decode_counted(decoder, encoded);
    ASSERT_TRUE(used.is_decoded) << width << "x" << height;
    ASSERT_LE(used.peak, static_cast<std::int64_t>(used.reserved)) << width << "x" << height << ", round " << round;
  }
}

void put_number(Encoded& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift));
}

Encoded chunk(const char* type, const Encoded& body) {
  Encoded out;
  put_number(out, static_cast<std::uint32_t>(body.size()));
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(type[i]));
  out.insert(out.end(), body.begin(), body.end());
  put_number(out, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(out.data()) + 4, body.size() + 4)));
  return out;
}

Encoded packed_text(const char* head, std::size_t head_bytes, std::size_t bytes) {
  std::vector<Bytef> packed(compressBound(bytes));
  uLongf size = packed.size();
  const std::vector<Bytef> letters(bytes, 'a');  // libpng would take zeros for an empty text
  compress2(packed.data(), &size, letters.data(), bytes, 9);
  Encoded out;
  for (std::size_t i = 0; i < head_bytes; ++i) out.push_back(static_cast<std::byte>(head[i]));
  for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<std::byte>(packed[i]));
  return out;
}

TEST(ImageMemory, compressed_texts_and_profiles_of_a_png_are_not_inflated) {
  if (!HeapPeak::is_counted()) GTEST_SKIP() << "the sanitizer counts for itself";
  const Encoded whole = encode_png(make_picture(16, 16, 3, 1));
  const std::size_t after_header = 8 + 25;
  const Encoded ztxt = chunk("zTXt", packed_text("k\0\0", 3, 4 << 20));
  const Encoded itxt = chunk("iTXt", packed_text("k\0\1\0\0\0", 6, 4 << 20));
  const Encoded iccp = chunk("iCCP", packed_text("k\0\0", 3, 4 << 20));
  ImageDecoder decoder;
  ASSERT_TRUE(decode_all(decoder, whole));
  for (const Encoded& extra : {ztxt, itxt, iccp}) {
    Encoded bytes(whole.begin(), whole.begin() + after_header);
    for (int i = 0; i < 30; ++i) bytes.insert(bytes.end(), extra.begin(), extra.end());
    bytes.insert(bytes.end(), whole.begin() + after_header, whole.end());
    const HeapPeak peak;
    const auto decoded = decode_all(decoder, bytes);
    ASSERT_TRUE(decoded) << decoded.error().describe();
    EXPECT_LT(peak.bytes(), 1 << 20);
    EXPECT_EQ(decoded->pixels, decode_all(decoder, whole)->pixels);
  }
}

}  // namespace
}  // namespace penstock
