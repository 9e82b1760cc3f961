// A cache in the memory of this process alone.
#pragma once

#include <memory>

#include "cache/tiered_cache.h"

namespace penstock {

inline std::shared_ptr<const TieredCache> memory_cache(bool revalidate = true) {
  auto cache = std::make_shared<TieredCache>(
      CacheOptions{.ram_bytes = 1 << 20, .policy = CachePolicy::kLru, .revalidate = revalidate});
  (void)cache->prepare({});
  return cache;
}

}  // namespace penstock
