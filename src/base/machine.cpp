#include "base/machine.h"

#include <sys/resource.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace penstock {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  const auto line = first_line(path);
  return line ? parse_number(*line) : std::nullopt;
}

// The folders of this process's cgroup for one controller, and of its parents. Each may set limits.
std::vector<std::string> cgroup_folders(const std::string& controller) {
  std::vector<std::string> folders;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    const bool unified = names == ",,";
    if (!unified && names.find("," + controller + ",") == std::string::npos) continue;
    const std::string root = unified ? std::string("/sys/fs/cgroup") : "/sys/fs/cgroup/" + controller;
    while (true) {
      folders.push_back(root + path);
      const auto slash = path.rfind('/');
      if (path.size() <= 1 || slash == std::string::npos) break;
      path.resize(slash);
    }
    folders.push_back(root);
  }
  return folders;
}

std::optional<double> cpu_quota() {
  std::optional<double> lowest;
  const auto note = [&](double cpus) { lowest = std::min(lowest.value_or(cpus), cpus); };
  for (const std::string& folder : cgroup_folders("cpu")) {
    if (const auto line = first_line(folder + "/cpu.max")) {  // v2: "max 100000" or "150000 100000"
      std::istringstream words(*line);
      std::string quota;
      double period = 0;
      words >> quota >> period;
      if (const auto value = parse_number(quota); value && period > 0)
        note(static_cast<double>(*value) / period);
    }
    const auto quota = number_in(folder + "/cpu.cfs_quota_us");  // v1: -1 means none
    const auto period = number_in(folder + "/cpu.cfs_period_us");
    if (quota && period && *period > 0) note(static_cast<double>(*quota) / static_cast<double>(*period));
  }
  return lowest;
}

std::uint64_t reclaimable_bytes(const std::string& cgroup) {
  std::ifstream file(cgroup + "/memory.stat");
  std::uint64_t own = 0, total = 0;
  for (std::string line; std::getline(file, line);) {
    const auto space = line.find(' ');
    if (space == std::string::npos) continue;
    const std::uint64_t value = parse_number(std::string_view(line).substr(space + 1)).value_or(0);
    if (line.starts_with("inactive_file ")) own = value;
    if (line.starts_with("total_inactive_file ")) total = value;  // v1: with the groups below
  }
  return std::max(own, total);
}

}  // namespace

unsigned usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  unsigned cpus = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    cpus = static_cast<unsigned>(CPU_COUNT(&set));
  else
    cpus = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  if (const auto quota = cpu_quota())
    cpus = std::min(cpus, static_cast<unsigned>(std::max(1.0, std::ceil(*quota))));
  return std::max(1u, cpus);
}

std::uint64_t free_memory_bytes() {
  std::uint64_t available = 0;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("MemAvailable:")) continue;
    const auto digit = line.find_first_of("0123456789");
    if (digit != std::string::npos)
      available = parse_number(std::string_view(line).substr(digit)).value_or(0) * 1024;
  }
  if (available == 0)
    available = static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
                static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const std::string& folder : cgroup_folders("memory")) {
    auto limit = number_in(folder + "/memory.max");
    auto used = number_in(folder + "/memory.current");
    if (!limit) {
      limit = number_in(folder + "/memory.limit_in_bytes");
      used = number_in(folder + "/memory.usage_in_bytes");
    }
    // Pages of files that were not used lately count as used, but the kernel frees them on demand.
    if (used) *used -= std::min(*used, reclaimable_bytes(folder));
    if (limit && used) available = std::min(available, *limit > *used ? *limit - *used : 0);
  }
  return available;
}

std::uint64_t default_memory_bytes(unsigned local_ranks) {
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
  return std::max(free_memory_bytes() / 4 / local_ranks, kLeast);
}

std::uint64_t open_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1 << 20;
  return limit.rlim_cur;
}

}  // namespace penstock
