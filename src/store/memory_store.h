// A Store of objects in memory, for tests, fuzzing and data that a program makes itself.
//
// Keys are paths with '/' between folders; a folder exists while it has an object. Every put() and every commit gives
// an object a new version. Thread-safe. Copies of a store share their objects; writers keep them alive.
#pragma once

#include "store/store.h"

namespace penstock {

class MemoryStore final : public Store {
 public:
  MemoryStore();

  // Replaces the object of this key.
  void put(std::string key, std::vector<std::byte> bytes);

  using Store::create;
  using Store::list;

  StoreTraits traits() const override;
  Result<std::unique_ptr<Object>> open(const std::string& key) const override;
  Result<ObjectVersion> stat(const std::string& key) const override;
  Result<std::vector<FolderEntry>> list(const std::string& key, const ListOptions& options) const override;
  Result<std::unique_ptr<ObjectWriter>> create(const std::string& key, const CreateOptions& options) const override;

 private:
  class Objects;
  class Writer;

  std::shared_ptr<Objects> objects_;
};

}  // namespace penstock
