#include "base/stats.h"

namespace penstock {

std::string_view name_of(Stage stage) {
  static constexpr std::array<std::string_view, kStages> kNames = {"read", "decode", "transform", "collate",
                                                                   "deliver"};
  return kNames[static_cast<std::size_t>(stage)];
}

StageStats StageCounters::read() const {
  return {static_cast<double>(nanoseconds.get()) * 1e-9, items.get(), bytes.get(),
          static_cast<double>(wait_nanoseconds.get()) * 1e-9};
}

CacheStats CacheCounters::read() const {
  CacheStats stats;
  stats.tiers.reserve(tiers.size());
  for (const Tier& tier : tiers)
    stats.tiers.push_back(
        {tier.hits.get(), tier.bytes.get(), static_cast<double>(tier.saved_nanoseconds.get()) * 1e-9});
  stats.misses = misses.get();
  return stats;
}

WorkerStats WorkerCounters::read() const {
  WorkerStats stats;
  for (std::size_t i = 0; i < kStages; ++i) stats.stages[i] = stages[i].read();
  stats.cache = cache.read();
  return stats;
}

namespace {

// Calls `combine` with each pair of numbers.
template <typename Combine>
void combine_numbers(WorkerStats& a, const WorkerStats& b, Combine combine) {
  for (std::size_t i = 0; i < kStages; ++i) {
    combine(a.stages[i].seconds, b.stages[i].seconds);
    combine(a.stages[i].items, b.stages[i].items);
    combine(a.stages[i].bytes, b.stages[i].bytes);
    combine(a.stages[i].wait_seconds, b.stages[i].wait_seconds);
  }
  if (a.cache.tiers.size() < b.cache.tiers.size()) a.cache.tiers.resize(b.cache.tiers.size());
  for (std::size_t i = 0; i < b.cache.tiers.size(); ++i) {
    combine(a.cache.tiers[i].hits, b.cache.tiers[i].hits);
    combine(a.cache.tiers[i].bytes, b.cache.tiers[i].bytes);
    combine(a.cache.tiers[i].seconds_saved, b.cache.tiers[i].seconds_saved);
  }
  combine(a.cache.misses, b.cache.misses);
}

}  // namespace

WorkerStats& operator+=(WorkerStats& a, const WorkerStats& b) {
  combine_numbers(a, b, [](auto& x, auto y) { x += y; });
  return a;
}

WorkerStats operator-(WorkerStats a, const WorkerStats& b) {
  combine_numbers(a, b, [](auto& x, auto y) { x -= y; });
  return a;
}

}  // namespace penstock
