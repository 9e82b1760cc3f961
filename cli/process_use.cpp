#include "process_use.h"

#include <sys/resource.h>

namespace penstock::cli {
namespace {

rusage used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

double cpu_seconds() {
  const rusage usage = used();
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

std::uint64_t peak_rss_bytes() { return static_cast<std::uint64_t>(used().ru_maxrss) * 1024; }

}  // namespace penstock::cli
