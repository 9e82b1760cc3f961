// A tier in the memory of one process that evicts the least recently used entry. It exists to be compared
// with the tier that never evicts.
#pragma once

#include "base/memory/allocator.h"
#include "cache/tier.h"

namespace penstock {

// Each entry is a block of the allocator.
CacheTierPtr make_lru_tier(std::uint64_t capacity_bytes,
                           std::shared_ptr<Allocator> allocator = heap_allocator());

}  // namespace penstock
