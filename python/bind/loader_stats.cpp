#include "loader_stats.h"

#include <nanobind/stl/string.h>

#include <string>

#include "cache_handle.h"
#include "errors.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

nb::dict stage_dict(const std::array<StageStats, kStages>& stages) {
  nb::dict out;
  for (std::size_t i = 0; i < kStages; ++i) {
    nb::dict one;
    one["seconds"] = stages[i].seconds;
    one["items"] = stages[i].items;
    one["bytes"] = stages[i].bytes;
    one["wait_seconds"] = stages[i].wait_seconds;
    const std::string name(name_of(static_cast<Stage>(i)));
    out[name.c_str()] = one;
  }
  return out;
}

void add_counts(nb::dict& out, const Counts& counts) {
  out["planned"] = counts.planned;
  out["delivered"] = counts.delivered;
  out["skipped"] = counts.skipped;
  out["failed"] = counts.failed;
  out["padded"] = counts.padded;
  out["replaced"] = counts.replaced;
  out["batches"] = counts.batches;
}

nb::dict cache_dict(const CacheStats& stats, nb::dict tiers, const std::vector<TierState>& states) {
  nb::dict out;
  out["hits"] = stats.hits();
  out["misses"] = stats.misses;
  out["hit_ratio"] = stats.hit_ratio();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!tiers.contains(states[i].name.c_str())) tiers[states[i].name.c_str()] = nb::dict();
    nb::dict one = nb::cast<nb::dict>(tiers[states[i].name.c_str()]);
    one["hits"] = stats.tiers[i].hits;
    one["bytes"] = stats.tiers[i].bytes;
    one["seconds_saved"] = stats.tiers[i].seconds_saved;
  }
  out["tiers"] = tiers;
  return out;
}

}  // namespace

nb::dict stats_dict(const LoaderStats& stats) {
  nb::dict out;
  add_counts(out, stats.counts);
  nb::list errors, epochs;
  for (const Error& error : stats.errors) errors.append(error_dict(error));
  for (const EpochStats& epoch : stats.epochs) {
    nb::dict one;
    one["epoch"] = epoch.epoch;
    add_counts(one, epoch.counts);
    one["seconds"] = epoch.seconds;
    one["first_batch_seconds"] = epoch.first_batch_seconds;
    one["stages"] = stage_dict(epoch.stages);
    one["cache"] = cache_dict(epoch.cache, nb::dict(), stats.cache_tiers);
    epochs.append(one);
  }
  out["errors"] = errors;
  out["stages"] = stage_dict(stats.stages);
  nb::dict queue, memory, tuning;
  queue["capacity"] = stats.queue_capacity;
  queue["ready"] = stats.queue_ready;
  queue["bytes"] = stats.queue_bytes;
  out["queue"] = queue;
  out["first_batch_seconds"] = stats.first_batch_seconds;
  memory["budget"] = stats.memory_budget;
  memory["peak"] = stats.memory_peak;
  memory["lent"] = stats.memory_lent;
  out["memory"] = memory;
  nb::dict chunks, shuffle;
  chunks["decoded"] = stats.chunks.decoded;
  chunks["reused"] = stats.chunks.reused;
  chunks["missing"] = stats.chunks.missing;
  chunks["decoded_bytes"] = stats.chunks.decoded_bytes;
  chunks["distinct"] = stats.chunks.distinct;
  chunks["decodes_per_chunk"] = stats.chunks.decodes_per_chunk();
  if (stats.chunks.memory_for_one_decode > 0)
    chunks["memory_for_one_decode"] = stats.chunks.memory_for_one_decode;
  else
    chunks["memory_for_one_decode"] = nb::none();
  out["chunks"] = chunks;
  nb::dict cache = cache_dict(stats.cache, tiers_dict(stats.cache_tiers), stats.cache_tiers);
  cache["form"] = stats.cache_form;
  std::uint64_t damaged = 0;
  for (const TierState& tier : stats.cache_tiers) damaged += tier.damaged;
  cache["damaged"] = damaged;
  out["cache"] = cache;
  shuffle["units"] = stats.shuffle.units;
  shuffle["window_units"] = stats.shuffle.window_units;
  shuffle["samples_per_unit"] = stats.shuffle.samples_per_unit;
  shuffle["design_effect"] = stats.shuffle.design_effect;
  out["shuffle"] = shuffle;
  tuning["threads"] = stats.threads;
  tuning["prefetch"] = stats.queue_capacity;
  tuning["reason"] = stats.tuning;
  out["tuning"] = tuning;
  out["bottleneck"] = stats.bottleneck;
  out["epochs"] = epochs;
  return out;
}

}  // namespace penstock::python
