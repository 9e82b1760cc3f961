// A tier in the memory of one process that evicts the least recently used entry. It exists to be compared
// with the tier that never evicts.
#pragma once

#include "cache/tier.h"

namespace penstock {

CacheTierPtr make_lru_tier(std::uint64_t capacity_bytes);

}  // namespace penstock
