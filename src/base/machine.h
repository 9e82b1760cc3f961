// What this process may use of the machine: cores and memory.
#pragma once

#include <cstdint>

namespace penstock {

// Cores by affinity and cgroup quota (at least 1).
unsigned usable_cpus();

// Memory that the cgroup or the machine has free, in bytes.
std::uint64_t free_memory_bytes();

// What a loader takes where nobody says: a quarter of what is free, divided among the ranks of this machine.
std::uint64_t default_memory_bytes(unsigned local_ranks);

// How many files this process may have open at one time.
std::uint64_t open_file_limit();

}  // namespace penstock
