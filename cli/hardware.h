// The machine and the versions that a result was measured with: a number without them says little.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace penstock::cli {

struct Hardware {
  std::string cpu;
  unsigned usable_cores = 1;  // by affinity and cgroup
  std::uint64_t memory_bytes = 0, memory_free_bytes = 0;
  std::string os, kernel;
};

Hardware find_hardware();
nlohmann::ordered_json to_json(const Hardware& hardware);
nlohmann::ordered_json versions_json();

}  // namespace penstock::cli
