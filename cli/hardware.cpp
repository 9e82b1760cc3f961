#include "hardware.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

// jpeglib.h needs FILE and size_t.
#include <jpeglib.h>
#include <cstddef>
#include <cstdio>
#include <fstream>

#include "base/machine.h"

namespace penstock::cli {
namespace {

// The value of the first line that starts with `name`, without separators and quotes.
std::string value_in(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto from = line.find_first_not_of(" \t:=\"", name.size());
    if (from == std::string::npos) return {};
    return line.substr(from, line.find_last_not_of(" \t\"") - from + 1);
  }
  return {};
}

#define PENSTOCK_TEXT_OF(x) #x
#define PENSTOCK_TEXT(x) PENSTOCK_TEXT_OF(x)

}  // namespace

Hardware find_hardware() {
  Hardware hardware;
  utsname system{};
  const bool is_known = uname(&system) == 0;
  hardware.cpu = value_in("/proc/cpuinfo", "model name");
  if (hardware.cpu.empty()) hardware.cpu = value_in("/proc/device-tree/model", "");  // ARM boards
  if (hardware.cpu.empty() && is_known) hardware.cpu = system.machine;
  hardware.usable_cores = usable_cpus();
  hardware.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  hardware.memory_free_bytes = free_memory_bytes();
  hardware.os = value_in("/etc/os-release", "PRETTY_NAME");
  if (is_known) hardware.kernel = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  return hardware;
}

nlohmann::ordered_json to_json(const Hardware& hardware) {
  return {{"cpu", hardware.cpu},
          {"usable_cores", hardware.usable_cores},
          {"memory_bytes", hardware.memory_bytes},
          {"memory_free_bytes", hardware.memory_free_bytes},
          {"os", hardware.os},
          {"kernel", hardware.kernel}};
}

nlohmann::ordered_json versions_json() {
#if defined(__clang__)
  const char* compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
  const char* compiler = "gcc " __VERSION__;
#else
  const char* compiler = "unknown";
#endif
#if defined(LIBJPEG_TURBO_VERSION)
  const char* jpeg = PENSTOCK_TEXT(LIBJPEG_TURBO_VERSION);
#else
  const char* jpeg = "none (libjpeg " PENSTOCK_TEXT(JPEG_LIB_VERSION) ")";
#endif
  return {{"penstock", PENSTOCK_VERSION}, {"compiler", compiler}, {"libjpeg-turbo", jpeg}};
}

}  // namespace penstock::cli
