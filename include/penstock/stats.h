// What a loader did and who waited for whom. The same counters feed stats(), bench and, later,
// the advisor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cache.h"
#include "penstock/result.h"

namespace penstock {

enum class Stage : std::uint8_t { kRead, kDecode, kTransform, kCollate, kDeliver };
constexpr std::size_t kStages = 5;
std::string_view name_of(Stage stage);  // "read", "decode", ...

struct StageStats {
  double seconds = 0;       // busy, summed over threads
  std::uint64_t items = 0;  // samples; batches for deliver
  std::uint64_t bytes = 0;  // that came out of the stage
  double wait_seconds = 0;  // collate: workers idle behind a full queue; deliver: the consumer
};

// planned = delivered + skipped + failed.
struct Counts {
  std::uint64_t planned = 0;  // samples of all batches that were asked for and came to an end
  std::uint64_t delivered = 0;
  std::uint64_t skipped = 0;   // bad samples left out (on_error="skip")
  std::uint64_t failed = 0;    // samples of a batch that raised
  std::uint64_t padded = 0;    // delivered samples that another rank has too
  std::uint64_t replaced = 0;  // delivered samples that stand in for bad ones
  std::uint64_t batches = 0;
};

// Of chunked arrays.
struct ChunkStats {
  std::uint64_t decoded = 0;  // chunks, each time that one was
  std::uint64_t reused = 0;   // found decoded already
  std::uint64_t missing = 0;  // not in the store: the fill value stood for them
  std::uint64_t decoded_bytes = 0;
  // Different chunks that an epoch decoded, added up over the epochs. A chunk that an epoch decodes twice counts
  // once. Of sources with more than 8 million chunks, an estimate.
  std::uint64_t distinct = 0, distinct_bytes = 0;
  // The memory= with which no epoch would decode a chunk twice; 0 where none did.
  std::uint64_t memory_for_one_decode = 0;

  double decodes_per_chunk() const {
    return distinct > 0 ? static_cast<double>(decoded) / static_cast<double>(distinct) : 0;
  }
  // Chunks were decoded twice. Different parts of one, each decoded once, do not count.
  bool is_repeated() const { return decoded > distinct && decoded_bytes > distinct_bytes; }
};

// How good a windowed shuffle is.
struct ShuffleStats {
  std::uint64_t units = 0;         // that are shuffled; 0: no windows
  std::uint64_t window_units = 0;  // that samples are mixed between
  double samples_a_unit = 0;
  // By how much the variance of a batch's mean is larger than with a full shuffle, if all samples of a
  // unit were alike (Kish's design effect); 1: not at all.
  double design_effect = 1;
};

// What the cache gave, tier by tier. For each field or chunk of a sample that is looked for, a hit in one
// of the tiers, or a miss.
struct CacheStats {
  struct Tier {
    std::uint64_t hits = 0, bytes = 0;  // bytes: that were given
    double seconds_saved = 0;           // of threads: what making it took, less what finding it did
  };
  static constexpr std::size_t kTiers = 2;
  std::array<Tier, kTiers> tiers{};
  std::uint64_t misses = 0;

  std::uint64_t hits() const { return tiers[0].hits + tiers[1].hits; }
  double hit_ratio() const {
    const std::uint64_t all = hits() + misses;
    return all > 0 ? static_cast<double>(hits()) / static_cast<double>(all) : 0;
  }
};

struct EpochStats {
  std::uint64_t epoch = 0;
  Counts counts;
  std::array<StageStats, kStages> stages{};
  CacheStats cache;
  double seconds = 0;              // from the epoch's start to its last batch
  double first_batch_seconds = 0;  // from the epoch's start to its first batch
};

struct LoaderStats {
  Counts counts;
  std::array<StageStats, kStages> stages{};
  double first_batch_seconds = 0;  // from the loader's construction to its first batch
  std::vector<EpochStats> epochs;
  std::vector<Error> errors;  // the first hundred

  std::uint64_t queue_capacity = 0, queue_ready = 0, queue_bytes = 0;
  std::uint64_t memory_budget = 0, memory_peak = 0, memory_lent = 0;
  ChunkStats chunks;
  CacheStats cache;
  std::vector<TierState> cache_tiers;  // of all loaders that use the cache
  std::string cache_form;              // "encoded", "decoded"; "": no cache
  ShuffleStats shuffle;
  unsigned threads = 0;
  std::string tuning;      // why this many threads and batches
  // "read", "decode", "transform", "collate", "training step", "unknown"; "memory" where reading and decoding
  // take longest because chunks are decoded again and again.
  std::string bottleneck;
};

}  // namespace penstock
