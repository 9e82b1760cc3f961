// Decoding all of a JPEG against decoding the middle quarter of it.
#include <benchmark/benchmark.h>

#include <cmath>
#include <utility>
#include <vector>

#include "decode/image/image.h"
#include "support/encode_jpeg.h"

namespace penstock {
namespace {

constexpr int kWidth = 500, kHeight = 375;

Encoded photograph() {
  std::vector<std::uint8_t> pixels(std::size_t{3} * kWidth * kHeight);
  unsigned state = 1;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const double x = static_cast<double>(i / 3 % kWidth), y = static_cast<double>(i / 3 / kWidth);
    state = state * 1664525u + 1013904223u;
    pixels[i] = static_cast<unsigned char>(120 + 60 * std::sin(x / 31 + static_cast<double>(i % 3)) +
                                           40 * std::cos(y / 17) + (state >> 28));
  }
  return encode_jpeg({kWidth, kHeight, 3, std::move(pixels)}, {.quality = 92});
}

void decode_region(benchmark::State& state) {
  const Encoded encoded = photograph();
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
