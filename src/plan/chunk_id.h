// Identifies a chunk of a source. A plain value.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "base/random.h"

namespace penstock {

struct ChunkId {
  std::uint32_t array = 0;  // index in Source::chunked_arrays()
  std::uint64_t number = 0;
  auto operator<=>(const ChunkId&) const = default;
};

}  // namespace penstock

template <>
struct std::hash<penstock::ChunkId> {
  std::size_t operator()(const penstock::ChunkId& id) const {
    return penstock::mix64(id.number ^ (std::uint64_t{id.array} << 48));
  }
};
