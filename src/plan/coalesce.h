// Joins reads that are close together in one object.
//
// Why: a store on a network has a latency per request, so reading the gap between two ranges costs less than
// another request. But a request that is too long keeps one connection busy while others are idle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/store.h"

namespace penstock {

struct MergeRule {
  std::uint64_t max_gap_bytes = 128 << 10;
  std::uint64_t max_bytes = 2 << 20;  // limit of a joined read; a single wanted read may be longer
};

// A request, and the wanted reads that it serves.
struct JoinedRead {
  ObjectRead read;
  std::vector<std::size_t> parts;  // indexes into `wanted`, sorted by offset
};

// Returns the requests in the order of the first wanted read that each serves. Reads of whole objects, and
// those that count from the end of an object, are not joined.
std::vector<JoinedRead> coalesce(std::span<const ObjectRead> wanted, const MergeRule& rule);

}  // namespace penstock
