// The tier in memory: filled in the order of visiting, never emptied, shared by the processes of a node.
//
// It is made of several files: the kernel lets one thread at a time write to a file, and all of them fill it.
#pragma once

#include "cache/tier.h"

namespace penstock {

struct RamTierOptions {
  std::string name;  // processes that give the same share it
  std::uint64_t capacity_bytes = 0;
  std::uint64_t expected_entries = 0;  // more find no place
  std::uint32_t stripes = 1;           // files; an entry must fit into one
  std::uint32_t processes = 1;         // that are to share it: each has so much less where they cannot
  Warn warn;
  std::string folder = "/dev/shm";
};

// How many files are worth it.
std::uint32_t useful_stripes(std::uint64_t capacity_bytes, std::uint64_t entry_bytes);

// Where shared memory is too small: a private tier, and a warning.
Result<CacheTierPtr> open_ram_tier(const RamTierOptions& options);

}  // namespace penstock
