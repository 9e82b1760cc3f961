// Decoding all of a JPEG against decoding the middle quarter of it.
#include <benchmark/benchmark.h>

#include <vector>

#include "decode/image/image.h"
#include "photograph.h"

namespace penstock {
namespace {

constexpr int kWidth = 500, kHeight = 375;

void decode_region(benchmark::State& state) {
  const Encoded encoded = photograph(kWidth, kHeight);
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
