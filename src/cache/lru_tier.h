// A tier in memory that throws out what was unused longest: what caches usually do, to be compared with.
// Belongs to one process.
#pragma once

#include "cache/tier.h"

namespace penstock {

CacheTierPtr make_lru_tier(std::uint64_t capacity_bytes);

}  // namespace penstock
