// A Store of objects in memory, for tests, fuzzing and data that a program makes itself.
//
// Keys are paths with '/' between folders, or URLs. A folder exists while it has an object; an object whose key ends
// with '/' only marks a folder, as in object stores, and is not listed. Every put() and every commit gives an object a
// new version. Thread-safe. Copies of a store share their objects; writers keep them alive.
#pragma once

#include "store/store.h"

namespace penstock {

class MemoryStore final : public Store {
 public:
  // Object stores list in pages of about a thousand entries, and so does this one.
  explicit MemoryStore(std::size_t entries_per_page = 1000);

  // Replaces the object of this key.
  void put(std::string key, std::vector<std::byte> bytes);

  using Store::create;

  StoreTraits traits() const override;
  Result<std::unique_ptr<Object>> open(const std::string& key) const override;
  Result<ObjectVersion> stat(const std::string& key) const override;
  Result<KeyKind> kind_of(const std::string& key) const override;
  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override;
  Result<std::unique_ptr<ObjectWriter>> create(const std::string& key, const CreateOptions& options) const override;

 private:
  class Objects;
  class Writer;

  std::shared_ptr<Objects> objects_;
  std::size_t entries_per_page_;
};

}  // namespace penstock
