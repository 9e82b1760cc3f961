// What this process has used so far, by the system's own books.
#pragma once

#include <cstdint>

namespace penstock::cli {

double cpu_seconds();            // user and system, all threads
std::uint64_t peak_rss_bytes();  // the most that was resident at one time

}  // namespace penstock::cli
