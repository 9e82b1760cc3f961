// Our Huffman decoder against libjpeg-turbo's own: the same pixels, for everything it takes on.
#include "decode/jpeg/jpeg_entropy.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "support/encode_images.h"

namespace penstock {
namespace {

struct Decoded {
  bool attached = false;
  std::vector<std::uint8_t> pixels{};
};

// With our Huffman decoder in place of libjpeg's, where one is given.
std::optional<Decoded> decode(const Encoded& encoded, JpegEntropyDecoder* decoder, int skip_rows = 0) {
  Decoded out;
  LibjpegOptions options{.skip_rows = skip_rows, .reads_end_marker = false};
  if (decoder != nullptr)
    options.when_started = [&](jpeg_decompress_struct& info) { out.attached = decoder->attach(info); };
  if (!decode_by_libjpeg(encoded, options, &out.pixels)) return std::nullopt;
  return out;
}

TEST(JpegEntropy, fits_the_libjpeg_we_run_with) { EXPECT_TRUE(jpeg_entropy_decoder_fits()); }

TEST(JpegEntropy, gives_the_librarys_pixels_for_every_baseline_encoding) {
  const auto decoder = std::make_unique<JpegEntropyDecoder>();  // one for all: tables must be renewed
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    JpegOptions options;
    options.quality = 1 + static_cast<int>(random() % 100);
    options.horizontal = 1 + static_cast<int>(random() % 2);
    options.vertical = 1 + static_cast<int>(random() % 2);
    options.restart_rows = random() % 3 == 0 ? 1 + static_cast<int>(random() % 3) : 0;
    const int channels = random() % 5 == 0 ? 1 : random() % 7 == 0 ? 4 : 3;
    const int width = 1 + static_cast<int>(random() % 120), height = 1 + static_cast<int>(random() % 120);
    const Encoded encoded = encode_jpeg(make_picture(width, height, channels, random()), options);
    const int skip = static_cast<int>(random() % static_cast<unsigned>(height));
    const auto by_library = decode(encoded, nullptr, skip), by_us = decode(encoded, decoder.get(), skip);
    ASSERT_TRUE(by_library && by_us) << "round " << round << " quality " << options.quality;
    EXPECT_TRUE(by_us->attached);
    ASSERT_EQ(by_library->pixels, by_us->pixels)
        << "round " << round << ' ' << width << 'x' << height << " quality " << options.quality;
  }
}

TEST(JpegEntropy, leaves_progressive_images_to_the_library) {
  JpegOptions options;
  options.progressive = true;
  const auto decoder = std::make_unique<JpegEntropyDecoder>();
  const auto decoded = decode(encode_jpeg(make_picture(40, 30, 3, 1), options), decoder.get());
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->attached);
}

TEST(JpegEntropy, accepts_damaged_data_only_where_the_library_does_and_with_its_pixels) {
  const auto decoder = std::make_unique<JpegEntropyDecoder>();
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    JpegOptions options;
    options.restart_rows = round % 2;
    Encoded encoded = encode_jpeg(make_picture(64, 48, 3, random()), options);
    // Not the end marker: the codec looks for that before it decodes anything.
    const std::size_t from = encoded.size() / 3, range = encoded.size() - 2 - from;
    for (int flips = 0; flips < 1 + round % 3; ++flips)
      encoded[from + random() % range] ^= static_cast<std::byte>(1u << random() % 8);
    const auto by_us = decode(encoded, decoder.get());
    if (!by_us) {
      ++refused;
      continue;
    }
    const auto by_library = decode(encoded, nullptr);
    ASSERT_TRUE(by_library) << "round " << round;
    ASSERT_EQ(by_library->pixels, by_us->pixels) << "round " << round;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace penstock
