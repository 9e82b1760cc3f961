// The resources that this process has used so far, as the system counts them.
#pragma once

#include <cstdint>

namespace penstock::cli {

double cpu_seconds();            // user and system, all threads
std::uint64_t peak_rss_bytes();  // the largest resident size so far

}  // namespace penstock::cli
