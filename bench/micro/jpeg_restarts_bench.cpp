// Random crops of JPEGs as they are and rewritten with restart markers (docs/decisions/0038).
//
//   penstock_micro --benchmark_filter=crops --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
//
// With names of files in PENSTOCK_BENCH_JPEGS, separated by colons, those are cropped in place of made ones.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "decode/image/image.h"
#include "decode/jpeg/jpeg_restarts.h"
#include "photograph.h"

namespace penstock {
namespace {

using Random = std::mt19937;
using Crop = Rect (*)(Random&, const ImageHeader&);

double uniform(Random& random, double least, double most) {
  return least + (most - least) * static_cast<double>(random()) / static_cast<double>(Random::max());
}

Rect placed(Random& random, const ImageHeader& image, int width, int height) {
  width = std::clamp(width, 1, image.width);
  height = std::clamp(height, 1, image.height);
  return {static_cast<int>(random() % static_cast<unsigned>(image.width - width + 1)),
          static_cast<int>(random() % static_cast<unsigned>(image.height - height + 1)), width, height};
}

Rect square_of_512(Random& random, const ImageHeader& image) { return placed(random, image, 512, 512); }

// As RandomResizedCrop draws it, with its default scale.
Rect random_resized(Random& random, const ImageHeader& image) {
  const double area = uniform(random, 0.08, 1) * image.width * image.height;
  const double shape = std::exp(uniform(random, std::log(3.0 / 4), std::log(4.0 / 3)));
  return placed(random, image, static_cast<int>(std::sqrt(area * shape)), static_cast<int>(std::sqrt(area / shape)));
}

std::vector<Encoded> files_or(const std::function<Encoded()>& make) {
  std::vector<Encoded> out;
  const char* const names = std::getenv("PENSTOCK_BENCH_JPEGS");
  std::istringstream list(names == nullptr ? "" : names);
  for (std::string name; std::getline(list, name, ':');) {
    std::ifstream file(name, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const ConstBytes bytes = as_bytes(text.data(), text.size());
    out.emplace_back(bytes.begin(), bytes.end());
  }
  if (out.empty()) out.push_back(make());
  return out;
}

void crops(benchmark::State& state, std::vector<Encoded> images, bool is_rewritten, Crop crop) {
  if (is_rewritten)
    for (Encoded& image : images) {
      auto rewritten = rewrite_with_restarts(image);
      if (!rewritten) return state.SkipWithError(rewritten.error().message.c_str());
      image = std::move(*rewritten);
    }
  Random random(1);
  ImageDecoder decoder;
  std::vector<std::byte> buffer;
  std::size_t next = 0;
  for (auto _ : state) {
    const auto header = decoder.open(images[next++ % images.size()]);
    if (!header) return state.SkipWithError("not a JPEG");
    const DecodeRequest request{crop(random, *header)};
    buffer.resize(std::max(buffer.size(), decoder.buffer_bytes(request)));
    if (!decoder.decode(request, buffer)) return state.SkipWithError("decode failed");
    benchmark::ClobberMemory();
  }
}

void crops_of_512_from_12_megapixels(benchmark::State& state) {
  crops(state, files_or([] { return photograph(4000, 3000); }), state.range(0) != 0, square_of_512);
}
void random_resized_crops_from_500_pixels(benchmark::State& state) {
  crops(state, files_or([] { return photograph(500, 375); }), state.range(0) != 0, random_resized);
}
void random_resized_crops_from_progressive(benchmark::State& state) {
  crops(state, files_or([] { return photograph(500, 375, {.quality = 92, .progressive = true}); }),
        state.range(0) != 0, random_resized);
}
BENCHMARK(crops_of_512_from_12_megapixels)->ArgName("rewritten")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(random_resized_crops_from_500_pixels)->ArgName("rewritten")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(random_resized_crops_from_progressive)->ArgName("rewritten")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
