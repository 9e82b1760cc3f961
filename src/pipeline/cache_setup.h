// Prepares the cache of a loader: decides what it caches, in which form, and for how many entries.
#pragma once

#include "penstock/loader.h"
#include "fetch/entries/sample_cache.h"
#include "sample/sample_worker.h"

namespace penstock {

// Returns the form that saves more seconds with this much memory. Each unit that fits saves what reading, or reading
// and decoding, it costs.
CacheForm better_form(const UnitCost& unit, std::uint64_t units, std::uint64_t cache_bytes);

// Reads a few samples to measure their cost. `shared` has the readers that workers use, without a cache.
Result<std::unique_ptr<SampleCache>> set_up_cache(const SamplePlan& plan, const LoaderOptions& options,
                                                  const ProbeMemory& memory, unsigned threads,
                                                  const SharedReads& shared);

}  // namespace penstock
