// Counters and times of a loader. Loader::stats() returns them as a snapshot: plain values, which do not change while
// the loader runs on. All times are in seconds.
//
//   const LoaderStats stats = (*loader)->stats();
//   log("the slowest part is " + stats.bottleneck);
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cache.h"
#include "penstock/result.h"

namespace penstock {

// The stages that a sample passes, in order. kDeliver is the hand-over of batches to the consumer.
enum class Stage : std::uint8_t { kRead, kDecode, kTransform, kCollate, kDeliver };
constexpr std::size_t kStages = 5;
std::string_view name_of(Stage stage);  // "read", "decode", ...

struct StageStats {
  double seconds = 0;       // busy time, summed over threads
  std::uint64_t items = 0;  // samples; kDeliver: batches
  std::uint64_t bytes = 0;  // output of the stage
  // kCollate: time that workers were idle because the queue was full. kDeliver: time that the consumer
  // waited.
  double wait_seconds = 0;
};

// The number of samples by their outcome. planned = delivered + skipped + failed.
struct Counts {
  std::uint64_t planned = 0;  // samples of all batches that are finished
  std::uint64_t delivered = 0;
  std::uint64_t skipped = 0;   // bad samples that were left out (on_error="skip")
  std::uint64_t failed = 0;    // samples of batches that ended with an error
  std::uint64_t padded = 0;    // delivered samples that another rank delivers, too
  std::uint64_t replaced = 0;  // delivered samples that replace bad ones
  std::uint64_t batches = 0;
};

// How often the chunks of chunked arrays were decoded.
struct ChunkStats {
  std::uint64_t decoded = 0;  // decoded chunks; a chunk that is decoded twice counts twice
  std::uint64_t reused = 0;   // uses of a chunk that was still in memory
  std::uint64_t missing = 0;  // chunks that the store does not have; their elements are the fill value
  std::uint64_t decoded_bytes = 0;
  // Distinct chunks that an epoch decoded, summed over the epochs: a chunk that one epoch decodes twice
  // counts once. An estimate for sources with more than 8 million chunks.
  std::uint64_t distinct = 0, distinct_bytes = 0;
  // The memory budget with which no epoch would decode a chunk twice; 0 if none did.
  std::uint64_t memory_for_one_decode = 0;

  double decodes_per_chunk() const {
    return distinct > 0 ? static_cast<double>(decoded) / static_cast<double>(distinct) : 0;
  }
  // True if chunks were decoded more than once. Distinct parts of a chunk that were decoded once each do not
  // count.
  bool is_repeated() const { return decoded > distinct && decoded_bytes > distinct_bytes; }
};

// Tells how good a windowed shuffle is.
struct ShuffleStats {
  std::uint64_t units = 0;         // storage units of the source; 0: the shuffle has no windows
  std::uint64_t window_units = 0;  // units per window, within which samples are mixed
  double samples_per_unit = 0;
  // Variance of the mean of a batch, relative to that with a full shuffle, if all samples of a unit were
  // alike (Kish's design effect). 1 is as good as a full shuffle.
  double design_effect = 1;
};

// Hits and misses of the cache. Each lookup of a field or chunk of a sample counts once: as a hit in one of
// the tiers, or as a miss.
struct CacheStats {
  struct Tier {
    std::uint64_t hits = 0, bytes = 0;  // bytes: size of the entries that were hit
    double seconds_saved = 0;           // thread time of making the entries, minus that of the lookups
  };
  std::vector<Tier> tiers;  // in the order of Cache::tiers()
  std::uint64_t misses = 0;

  std::uint64_t hits() const {
    std::uint64_t sum = 0;
    for (const Tier& tier : tiers) sum += tier.hits;
    return sum;
  }
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
  std::vector<Error> errors;  // at most the first hundred

  std::uint64_t queue_capacity = 0, queue_ready = 0, queue_bytes = 0;
  std::uint64_t memory_budget = 0, memory_peak = 0, memory_lent = 0;
  ChunkStats chunks;
  CacheStats cache;
  std::vector<TierState> cache_tiers;  // shared by all loaders that use the cache
  std::string cache_form;              // "encoded" or "decoded"; empty without a cache
  ShuffleStats shuffle;
  unsigned threads = 0;
  std::string tuning;  // explains, for people, the numbers of threads and batches
  // The slowest part: "read", "decode", "transform", "collate", "training step" or "unknown"; or "memory", if
  // reading and decoding are slowest because the budget is too small to hold decoded chunks until their next use.
  std::string bottleneck;
};

}  // namespace penstock
