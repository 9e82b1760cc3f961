// Objects held in memory: for tests, fuzzing and data that a program made itself.
// Keys are paths with '/' between folders.
#pragma once

#include <map>

#include "store/store.h"

namespace penstock {

class MemoryStore final : public Store {
 public:
  // Not while others read: fill it first, then share it.
  void put(std::string key, std::vector<std::byte> bytes);

  Result<std::unique_ptr<Object>> open(const std::string& key) const override;
  Result<ObjectVersion> stat(const std::string& key) const override;
  Result<std::vector<FolderEntry>> list(const std::string& key) const override;

 private:
  std::map<std::string, std::shared_ptr<const std::vector<std::byte>>> objects_;
};

}  // namespace penstock
