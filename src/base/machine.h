// The resources of the machine that this process may use: cores, memory, open files. Thread-safe.
#pragma once

#include <cstdint>

namespace penstock {

// The number of cores that affinity and cgroup quota allow, at least 1.
unsigned usable_cpus();

// The free memory of the cgroup or of the machine, whichever is less.
std::uint64_t free_memory_bytes();

// The default budget of a loader: a quarter of the free memory, divided among the ranks of this machine.
std::uint64_t default_memory_bytes(unsigned local_ranks);

// The number of files that this process may have open at one time.
std::uint64_t open_file_limit();

}  // namespace penstock
