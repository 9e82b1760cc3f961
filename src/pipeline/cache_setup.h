// Makes the cache of a loader ready: what it will keep, in which form, and how many entries that makes.
#pragma once

#include "penstock/loader.h"
#include "fetch/entries/sample_cache.h"
#include "sample/sample_worker.h"

namespace penstock {

// The form that saves more seconds with this much memory: as many units as fit save what they cost each.
CacheForm better_form(const UnitCost& unit, std::uint64_t units, std::uint64_t cache_bytes);

// Reads a few samples to find out. `shared`: as workers have it, without a cache.
Result<std::unique_ptr<SampleCache>> set_up_cache(const SamplePlan& plan, const LoaderOptions& options,
                                                  const ProbeMemory& memory, unsigned threads,
                                                  const SharedReads& shared);

}  // namespace penstock
