// What it costs to know which sample stands where.
#include <benchmark/benchmark.h>

#include "order/epoch_order.h"

namespace penstock {
namespace {

void sample_at(benchmark::State& state) {
  OrderSpec spec;
  spec.samples = 1'281'167;
  spec.shuffle = state.range(0) == 0 ? Shuffle::kFull : Shuffle::kWindow;
  spec.unit_samples = 100;
  const auto order = make_epoch_order(spec, 3);
  std::uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(order->sample_at(position));
    position = (position + 1) % spec.samples;
  }
}
BENCHMARK(sample_at)->Arg(0)->Arg(1);

}  // namespace
}  // namespace penstock
