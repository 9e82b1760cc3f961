// Counters for the hot path. Each worker has its own set; readers add them up.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "penstock/stats.h"

namespace penstock {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// One thread writes it; any thread may read it.
class Counter {
 public:
  void add(std::uint64_t amount) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct StageCounters {
  Counter nanoseconds, items, bytes, wait_nanoseconds;
  StageStats read() const;
};

struct CacheCounters {
  explicit CacheCounters(std::size_t cache_tiers) : tiers(cache_tiers) {}

  // On a cache line of its own, because every worker writes its own counters.
  struct alignas(64) Tier {
    Counter hits, bytes, saved_nanoseconds;
  };
  std::vector<Tier> tiers;  // in the order of Cache::tiers(); their number does not change
  Counter misses;
  CacheStats read() const;
};

struct WorkerStats {
  std::array<StageStats, kStages> stages{};
  CacheStats cache;
};

struct alignas(64) WorkerCounters {
  // `cache_tiers`: how many tiers the cache has, if the worker has one.
  explicit WorkerCounters(std::size_t cache_tiers = 0) : cache(cache_tiers) {}

  std::array<StageCounters, kStages> stages;
  CacheCounters cache;
  WorkerStats read() const;
};

// Add and subtract each number, for totals and for the share of one epoch. Tiers that one side lacks count as 0.
WorkerStats& operator+=(WorkerStats& a, const WorkerStats& b);
WorkerStats operator-(WorkerStats a, const WorkerStats& b);

// Adds the time since the last mark to a stage. Each worker has one.
class StageClock {
 public:
  explicit StageClock(WorkerCounters& counters) : counters_(counters) {}

  CacheCounters& cache() { return counters_.cache; }
  void start() { last_ = Clock::now(); }
  void mark(Stage stage, std::uint64_t bytes = 0, std::uint64_t items = 1) {
    const Clock::time_point now = Clock::now();
    StageCounters& counter = counters_.stages[static_cast<std::size_t>(stage)];
    counter.nanoseconds.add(static_cast<std::uint64_t>(std::chrono::nanoseconds(now - last_).count()));
    counter.items.add(items);
    counter.bytes.add(bytes);
    last_ = now;
  }

 private:
  WorkerCounters& counters_;
  Clock::time_point last_;
};

}  // namespace penstock
