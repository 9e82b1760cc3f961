// Describes the machine and the library versions, which a reader of a measurement needs to know.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace penstock::cli {

struct Hardware {
  std::string cpu;
  unsigned usable_cores = 1;  // as affinity and cgroup allow
  std::uint64_t memory_bytes = 0, memory_free_bytes = 0;
  std::string os, kernel;
};

Hardware find_hardware();
nlohmann::ordered_json to_json(const Hardware& hardware);
nlohmann::ordered_json versions_json();

}  // namespace penstock::cli
