// How fast threads fill the tier in memory, by the number of its files: one thread at a time writes to each.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"
#include "cache/ram_tier.h"

namespace penstock {
namespace {

constexpr std::uint64_t kEntry = 540 << 10, kEntries = 2000;  // pictures of 480x384, 1.1 GB

void fill_ram_tier(benchmark::State& state) {
  const auto threads = static_cast<std::size_t>(state.range(0));
  const auto stripes = static_cast<std::uint32_t>(state.range(1));
  for (auto _ : state) {
    auto tier = open_ram_tier(
        {fmt::format("micro-{}", getpid()), 2 * kEntry * kEntries, kEntries, stripes, 1, nullptr});
    if (!tier) return state.SkipWithError("no memory for the tier");
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> is_kept = true;
    const auto fill_some = [&] {
      std::vector<std::byte> memory(kEntry);
      const auto room = [&](std::size_t bytes) -> Result<MutableBytes> {
        return MutableBytes(memory).first(bytes);
      };
      const auto fill = [](MutableBytes bytes) -> Status {
        std::ranges::fill(bytes, std::byte{7});
        return {};
      };
      for (std::uint64_t i; (i = next++) < kEntries;)
        if (const auto added = (*tier)->add({mix64(i), mix64(~i)}, kEntry, fill, room);
            !added || *added != CacheTier::Added::kYes)
          is_kept = false;
    };
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(fill_some);
    }
    if (!is_kept) return state.SkipWithError("an entry was refused");
    state.PauseTiming();
    tier->reset();  // gives all pages back
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kEntry * kEntries));
}
BENCHMARK(fill_ram_tier)
    ->ArgNames({"threads", "files"})
    ->ArgsProduct({{1, 2, 4, 16}, {1, 4, 16}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
