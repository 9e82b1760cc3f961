// Our Huffman decoder against libjpeg-turbo's own: the same pixels, for everything it takes on.
#include "decode/jpeg/jpeg_entropy.h"

#include <gtest/gtest.h>

#include <csetjmp>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "support/encode_images.h"

namespace penstock {
namespace {

struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf escape;
};

[[noreturn]] void leave(j_common_ptr info) { std::longjmp(reinterpret_cast<Errors*>(info->err)->escape, 1); }

void leave_on_warning(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

struct Decoded {
  bool attached = false;
  std::vector<unsigned char> pixels;
};

// Nothing with a destructor lives here besides `out`, which is the caller's.
bool decode_into(const Encoded& encoded, JpegEntropyDecoder* decoder, int skip_rows, Decoded& out) {
  jpeg_decompress_struct info{};
  Errors errors{};
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = leave_on_warning;
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(encoded.data()), encoded.size());
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  if (decoder != nullptr) out.attached = decoder->attach(info);
  const std::size_t row_bytes =
      std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
  out.pixels.assign(row_bytes * info.output_height, 0);
  if (skip_rows > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(skip_rows));
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = out.pixels.data() + row_bytes * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_abort_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}

std::optional<Decoded> decode(const Encoded& encoded, JpegEntropyDecoder* decoder, int skip_rows = 0) {
  Decoded out;
  if (!decode_into(encoded, decoder, skip_rows, out)) return std::nullopt;
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
