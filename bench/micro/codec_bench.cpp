// A Blosc chunk through the chain of codecs against the library alone: the chain adds checks, no copy.
#include <benchmark/benchmark.h>
#include <blosc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "decode/codec/codec_chain.h"

namespace penstock {
namespace {

constexpr std::size_t kElements = std::size_t{1} << 20;  // 4 MiB of float32

std::vector<std::byte> encode_blosc() {
  std::vector<float> field(kElements);
  for (std::size_t i = 0; i < kElements; ++i)
    field[i] = 280 + 20 * std::sin(static_cast<float>(i) / 900) +
               static_cast<float>(i * 2654435761u >> 24 & 15) / 64;
  std::vector<std::byte> frame(kElements * sizeof(float) + BLOSC_MAX_OVERHEAD);
  const int size = blosc_compress_ctx(5, BLOSC_SHUFFLE, sizeof(float), kElements * sizeof(float),
                                      field.data(), frame.data(), frame.size(), "lz4", 0, 1);
  frame.resize(static_cast<std::size_t>(size));
  return frame;
}

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Both in turn, so that a machine that gets slower does so for both; "ratio" is chain to library.
void decode_blosc_chunk(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::byte> frame = encode_blosc();
  const auto chain = CodecChain::make({BloscCodec{}}, {DType::kFloat32, {std::int64_t{kElements}}});
  constexpr std::uint64_t kBudget = 16 << 20;
  Ledger ledger(kBudget);
  ScratchBudget budget(ledger, kBudget, 0);
  Scratch scratch(budget);
  CodecWorker worker(scratch, 0);
  std::vector<std::byte> out(chain->decoded_bytes());
  std::vector<double> by_chain, by_library;
  const auto seconds = [](auto&& work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const auto use_chain = [&] {
    if (!chain->decode(frame, out, worker)) state.SkipWithError("decode failed");
    benchmark::DoNotOptimize(out.data());
  };
  const auto use_library = [&] {
    blosc_decompress_ctx(frame.data(), out.data(), out.size(), 1);
    benchmark::DoNotOptimize(out.data());
  };
  for (auto _ : state) {
    // The one that comes second finds the frame in the cache, so they take turns.
    const bool chain_first = by_chain.size() % 2 == 0;
    if (chain_first) by_chain.push_back(seconds(use_chain));
    by_library.push_back(seconds(use_library));
    if (!chain_first) by_chain.push_back(seconds(use_chain));
    state.SetIterationTime(by_chain.back());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
  state.counters["encoded"] = static_cast<double>(frame.size()) / static_cast<double>(out.size());
  state.counters["ratio"] = median(by_chain) / median(by_library);
}
BENCHMARK(decode_blosc_chunk)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace penstock
