// Decoding all of a JPEG against decoding the middle quarter of it.
#include <benchmark/benchmark.h>

#include <jpeglib.h>
#include <cstdio>  // jpeglib.h needs FILE

#include <cmath>
#include <cstdlib>
#include <vector>

#include "decode/image/image.h"

namespace penstock {
namespace {

constexpr int kWidth = 500, kHeight = 375;

std::vector<std::byte> encode_jpeg() {
  std::vector<unsigned char> pixels(std::size_t{3} * kWidth * kHeight);
  unsigned state = 1;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const double x = static_cast<double>(i / 3 % kWidth), y = static_cast<double>(i / 3 / kWidth);
    state = state * 1664525u + 1013904223u;
    pixels[i] = static_cast<unsigned char>(120 + 60 * std::sin(x / 31 + static_cast<double>(i % 3)) +
                                           40 * std::cos(y / 17) + (state >> 28));
  }
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &out, &size);
  info.image_width = kWidth;
  info.image_height = kHeight;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 92, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = pixels.data() + std::size_t{3} * kWidth * info.next_scanline;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(out);
  std::vector<std::byte> bytes(begin, begin + size);
  std::free(out);
  return bytes;
}

void decode_region(benchmark::State& state) {
  const std::vector<std::byte> encoded = encode_jpeg();
  const DecodeRequest request{state.range(0) == 0 ? Rect{0, 0, kWidth, kHeight}
                                                  : Rect{kWidth / 4, kHeight / 4, kWidth / 2, kHeight / 2}};
  ImageDecoder decoder;
  std::vector<std::byte> buffer(std::size_t{4} * kWidth * (kHeight + 1));
  for (auto _ : state) {
    if (!decoder.open(encoded) || !decoder.decode(request, buffer)) state.SkipWithError("decode failed");
    benchmark::ClobberMemory();
  }
}
BENCHMARK(decode_region)->Arg(0)->Arg(1);

}  // namespace
}  // namespace penstock
