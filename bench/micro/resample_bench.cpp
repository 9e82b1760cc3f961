// The two pixel passes of the usual training pipeline: a crop of 344x344 to 224x224, and those
// pixels to normalised float32 planes.
#include <benchmark/benchmark.h>

#include <vector>

#include "transform/kernels/kernels.h"
#include "transform/geometry/resample.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr int kIn = 344, kOut = 224;

std::vector<std::byte> noise(std::size_t size) {
  std::vector<std::byte> bytes(size);
  unsigned state = 1;
  for (std::byte& b : bytes) b = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

void plan_one_axis(benchmark::State& state) {
  AxisPlan plan;
  for (auto _ : state) {
    plan_axis(plan, 0, kIn, kIn, kOut, 0, kOut, Interpolation::kBilinear, state.range(0) != 0);
    benchmark::DoNotOptimize(plan.weights.data());
  }
}
BENCHMARK(plan_one_axis)->Arg(1)->Arg(0);

void resample_rgb(benchmark::State& state) {
  const std::vector<std::byte> pixels = noise(std::size_t{4} * kIn * kIn);
  const View view = view_of_image(pixels.data(), DType::kUInt8, kIn, kIn, 3, 4, 4 * kIn);
  AxisPlan plan;
  plan_axis(plan, 0, kIn, kIn, kOut, 0, kOut, Interpolation::kBilinear, state.range(0) != 0);
  std::vector<std::byte> out(std::size_t{4} * kOut * kOut);
  std::vector<float> row(4 * static_cast<std::size_t>(kIn + plan.taps));
  for (auto _ : state) {
    benchmark::DoNotOptimize(resample(view, plan, plan, out.data(), row.data()));
    benchmark::ClobberMemory();
  }
  state.SetLabel(kernels().name);
}
BENCHMARK(resample_rgb)->Arg(1)->Arg(0);

void pixels_to_planes(benchmark::State& state) {
  const std::vector<std::byte> pixels = noise(std::size_t{4} * kOut * kOut);
  View view = view_of_image(pixels.data(), DType::kUInt8, kOut, kOut, 3, 4, 4 * kOut);
  const float scale[3] = {0.017f, 0.018f, 0.019f}, bias[3] = {-2.1f, -2.0f, -1.9f};
  view.affine = {scale, bias, 2};
  if (state.range(0) != 0) view.flip(1);
  std::vector<std::byte> out(std::size_t{64} * 12 * kOut * kOut);  // a batch, so that it is not in cache
  View target = view_of_array(out.data(), {DType::kFloat32, {kOut, kOut, 3}});
  target.stride = {4 * kOut, 4, 4 * kOut * kOut};
  std::size_t slot = 0;
  for (auto _ : state) {
    copy_view(view, out.data() + (slot++ % 64) * 12 * kOut * kOut, target);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(pixels_to_planes)->Arg(0)->Arg(1);

}  // namespace
}  // namespace penstock
