// The tier in memory, which the processes of a node share.
//
// It consists of several files ("stripes") in a folder of shared memory: the kernel lets only one thread at a time
// write to a file, and all worker threads fill the cache at once.
#pragma once

#include "cache/tier.h"

namespace penstock {

// The folder of shared memory: the environment variable PENSTOCK_SHARED_MEMORY_DIR, else /dev/shm. Containers often have
// a small /dev/shm, and a larger memory file system elsewhere. Processes with different folders share nothing.
std::string shared_memory_folder();

struct RamTierOptions {
  std::string name;  // processes that give the same name share the tier
  std::uint64_t capacity_bytes = 0;
  std::uint64_t expected_entries = 0;  // the table has slots for this many
  std::uint32_t stripes = 1;           // number of files; an entry must fit into one
  std::uint32_t processes = 1;         // that share the tier; without shared memory, each gets this part of the capacity
  Warn warn;
  std::string folder = shared_memory_folder();
};

// Returns the number of stripes that suits a capacity and the usual size of an entry.
std::uint32_t useful_stripes(std::uint64_t capacity_bytes, std::uint64_t entry_bytes);

// Falls back to a tier of this process alone, with a warning, if shared memory is too small or cannot be
// used. Fails with kInvalidArgument below 1 MiB, and with kNoMemory.
Result<CacheTierPtr> open_ram_tier(const RamTierOptions& options);

}  // namespace penstock
