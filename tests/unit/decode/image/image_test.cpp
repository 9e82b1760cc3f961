#include "decode/image/image.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/random.h"
#include "decode/npy.h"
#include "penstock/interruption.h"
#include "source/index/file_index.h"
#include "support/decode_region.h"

namespace penstock {
namespace {

TEST(ImageDecoder, chooses_by_the_first_bytes_and_may_change_every_time) {
  ImageDecoder decoder;
  const Picture picture = make_picture(12, 9, 3, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(decode_all(decoder, encode_jpeg(picture)));
    EXPECT_TRUE(decoder.can_scale());
    EXPECT_TRUE(decode_all(decoder, encode_png(picture)));
    EXPECT_FALSE(decoder.can_scale());
  }
}

TEST(ImageDecoder, nothing_and_noise_are_errors) {
  ImageDecoder decoder;
  EXPECT_EQ(decoder.open({}).error().code, ErrorCode::kTruncated);
  const Encoded noise(100, std::byte{0x5A});
  EXPECT_EQ(decoder.open(noise).error().code, ErrorCode::kCorrupt);
  for (const std::string_view magic : {"\xFF\xD8", "\x89PNG\r\n\x1A\n", "RIFF1234WEBP"}) {
    const auto* raw = reinterpret_cast<const std::byte*>(magic.data());
    EXPECT_FALSE(decoder.open({raw, magic.size()})) << magic;
  }
}

TEST(ImageDecoder, size_limits_are_sides_and_pixels) {
  const Limits limits{.image_pixels = 100, .image_side = 50};
  EXPECT_TRUE(check_image_size(10, 10, limits));
  EXPECT_EQ(check_image_size(11, 10, limits).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(check_image_size(51, 1, limits).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(check_image_size(0, 10, limits).error().code, ErrorCode::kCorrupt);
}

TEST(ImageDecoder, decoding_stops_when_it_is_interrupted) {
  const Picture picture = make_picture(200, 150, 3, 1);
  const Encoded progressive = encode_jpeg(picture, {.progressive = true});
  for (const Encoded& encoded : {encode_jpeg(picture), progressive, encode_png(picture)}) {
    ImageDecoder decoder;
    Interruption interruption([] { return false; });
    const Interruption::Scope scope(&interruption);
    const auto header = decoder.open(encoded);
    ASSERT_TRUE(header);
    const DecodeRequest request{{0, 100, 200, 50}};
    std::vector<std::byte> buffer(decoder.buffer_bytes(request));
    interruption.request();
    const auto decoded = decoder.decode(request, buffer);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kStopped);
    EXPECT_EQ(decoder.open(encoded).error().code, ErrorCode::kStopped);
  }
}

// Every input that a fuzzer ever broke something with, whatever it was for.
TEST(Regressions, inputs_of_old_finds_are_harmless) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_REGRESSIONS_DIR, error)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto* raw = reinterpret_cast<const std::byte*>(text.data());
    const Encoded bytes(raw, raw + text.size());
    ImageDecoder decoder(Limits{.image_pixels = 1 << 22});
    if (const auto full = decode_all(decoder, bytes)) {
      Draws draws(1, 1, 1);
      const auto below = [&](int bound) {
        return static_cast<int>(draws.below(static_cast<std::uint64_t>(bound)));
      };
      for (int i = 0; i < 100; ++i) {
        const int width = 1 + below(full->width), height = 1 + below(full->height);
        const Rect region{below(full->width - width + 1), below(full->height - height + 1), width, height};
        const auto part = decode_region(decoder, bytes, region);
        ASSERT_TRUE(part) << entry.path();
        ASSERT_EQ(part->pixels, crop_of(*full, region).pixels) << entry.path();
      }
    }
    (void)parse_npy_header(bytes, Limits{});
    (void)parse_index(bytes, "root");
  }
  EXPECT_FALSE(error) << error.message();
}

}  // namespace
}  // namespace penstock
