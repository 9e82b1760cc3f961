#include "store/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

class MemoryObject final : public Object {
 public:
  MemoryObject(std::string key, std::shared_ptr<const std::vector<std::byte>> bytes)
      : Object({bytes->size(), 0}),
        key_(std::move(key)),
        bytes_(std::move(bytes)) {}

  using Object::read_at;

  Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
    std::uint64_t wanted = 0;
    for (const MutableBytes& part : parts) wanted += part.size();
    if (offset > bytes_->size() || wanted > bytes_->size() - offset)
      return fail(ErrorCode::kTruncated,
                  fmt::format("object ends at {} bytes, {} expected", bytes_->size(), offset + wanted),
                  {key_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(wanted), -1});
    for (const MutableBytes& part : parts) {
      if (part.empty()) continue;
      std::memcpy(part.data(), bytes_->data() + offset, part.size());
      offset += part.size();
    }
    return {};
  }

 private:
  std::string key_;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

std::unexpected<Error> no_such(const std::string& key) {
  return fail(ErrorCode::kNotFound, "no such object", {key, -1, -1, -1});
}

}  // namespace

void MemoryStore::put(std::string key, std::vector<std::byte> bytes) {
  objects_[std::move(key)] = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

Result<std::unique_ptr<Object>> MemoryStore::open(const std::string& key) const {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return no_such(key);
  return std::make_unique<MemoryObject>(key, found->second);
}

Result<ObjectVersion> MemoryStore::stat(const std::string& key) const {
  const auto found = objects_.find(key);
  if (found != objects_.end()) return ObjectVersion{found->second->size(), 0};
  const auto below = objects_.lower_bound(key + "/");
  if (below != objects_.end() && below->first.starts_with(key + "/")) return ObjectVersion{};
  return no_such(key);
}

Result<std::vector<FolderEntry>> MemoryStore::list(const std::string& key) const {
  const std::string prefix = key + "/";
  std::vector<FolderEntry> entries;
  for (auto object = objects_.lower_bound(prefix);
       object != objects_.end() && object->first.starts_with(prefix); ++object) {
    const std::string rest = object->first.substr(prefix.size());
    const auto slash = rest.find('/');
    FolderEntry entry{rest.substr(0, slash), slash != std::string::npos};
    if (entries.empty() || entries.back().name != entry.name) entries.push_back(std::move(entry));
  }
  if (entries.empty()) return no_such(key);
  std::ranges::sort(entries, {}, &FolderEntry::name);
  return entries;
}

}  // namespace penstock
