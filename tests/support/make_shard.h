// Zarr shards, byte by byte, right or wrong.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "support/text_bytes.h"

namespace penstock {

struct ShardOptions {
  bool at_start = false;
  bool big_endian = false;
  bool has_checksum = true;
};

using IndexNumbers = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
constexpr std::pair<std::uint64_t, std::uint64_t> kEmptyEntry{UINT64_MAX, UINT64_MAX};

inline std::vector<std::byte> make_index(const IndexNumbers& numbers, const ShardOptions& options = {}) {
  std::vector<std::byte> out;
  const auto put = [&](auto number, bool reversed) {
    std::byte raw[sizeof(number)];
    std::memcpy(raw, &number, sizeof(number));
    if (reversed) std::reverse(std::begin(raw), std::end(raw));
    out.insert(out.end(), std::begin(raw), std::end(raw));
  };
  for (const auto& [offset, length] : numbers) {
    put(offset, options.big_endian);
    put(length, options.big_endian);
  }
  if (options.has_checksum) put(crc32c(out), false);
  return out;
}

// Chunks one after another, and their index.
inline std::vector<std::byte> make_shard(const std::vector<std::optional<std::vector<std::byte>>>& chunks,
                                         const ShardOptions& options = {}) {
  IndexNumbers numbers;
  std::vector<std::byte> contents;
  const std::size_t index_bytes = chunks.size() * 16 + (options.has_checksum ? 4 : 0);
  for (const auto& chunk : chunks) {
    numbers.push_back(kEmptyEntry);
    if (!chunk) continue;
    numbers.back() = {contents.size() + (options.at_start ? index_bytes : 0), chunk->size()};
    contents.insert(contents.end(), chunk->begin(), chunk->end());
  }
  const auto index = make_index(numbers, options);
  contents.insert(options.at_start ? contents.begin() : contents.end(), index.begin(), index.end());
  return contents;
}

}  // namespace penstock
