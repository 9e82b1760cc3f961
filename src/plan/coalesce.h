// Joins reads that stand close together in one object.
//
// Why: a store that answers over a network charges latency for each request, so what lies between
// two reads costs less than another request; but a request that is too long keeps one connection
// busy while others are idle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/store.h"

namespace penstock {

struct MergeRule {
  std::uint64_t max_gap_bytes = 128 << 10;
  std::uint64_t max_bytes = 2 << 20;  // of a joined read; a single one may be longer
};

// A request, and which of the wanted reads it answers.
struct JoinedRead {
  ObjectRead read;
  std::vector<std::size_t> parts;  // indexes into `wanted`, by offset
};

// In the order of the first wanted read that each answers. Reads of whole objects, and those that
// count from an object's end, stand alone.
std::vector<JoinedRead> coalesce(std::span<const ObjectRead> wanted, const MergeRule& rule);

}  // namespace penstock
