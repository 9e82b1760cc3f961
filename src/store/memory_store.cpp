#include "store/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/guarded.h"

namespace penstock {
namespace {

class MemoryObject final : public Object {
 public:
  MemoryObject(std::string key, ObjectVersion version, std::shared_ptr<const std::vector<std::byte>> bytes)
      : Object(version),
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

// The objects by key. Thread-safe.
class MemoryStore::Objects {
 public:
  struct Contents {
    std::shared_ptr<const std::vector<std::byte>> bytes;
    ObjectVersion version;
  };

  void put(std::string key, std::vector<std::byte> bytes) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const ObjectVersion version{bytes.size(), ++changes_};
    objects_[std::move(key)] = {std::make_shared<const std::vector<std::byte>>(std::move(bytes)), version};
  }

  std::optional<Contents> find(const std::string& key) const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(key);
    return found == objects_.end() ? std::nullopt : std::optional(found->second);
  }

  // Empty: there is no such folder.
  std::vector<FolderEntry> list(const std::string& folder) const PENSTOCK_EXCLUDES(mutex_) {
    const std::string prefix = folder + "/";
    std::vector<FolderEntry> entries;
    const MutexLock lock(mutex_);
    for (auto object = objects_.lower_bound(prefix);
         object != objects_.end() && object->first.starts_with(prefix); ++object) {
      const std::string rest = object->first.substr(prefix.size());
      const auto slash = rest.find('/');
      FolderEntry entry{rest.substr(0, slash), slash != std::string::npos, std::nullopt};
      if (!entry.is_folder) entry.version = object->second.version;
      if (entries.empty() || entries.back().name != entry.name) entries.push_back(std::move(entry));
    }
    std::ranges::sort(entries, {}, &FolderEntry::name);
    return entries;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, Contents> objects_ PENSTOCK_GUARDED_BY(mutex_);
  std::int64_t changes_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // so far; makes the versions
};

class MemoryStore::Writer final : public ObjectWriter {
 public:
  Writer(std::string key, std::shared_ptr<Objects> objects) : key_(std::move(key)), objects_(std::move(objects)) {}

  Status write(ConstBytes bytes) override {
    PENSTOCK_CHECK(check_not_over());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }

  Status commit() override {
    PENSTOCK_CHECK(check_not_over());
    std::exchange(objects_, nullptr)->put(key_, std::move(bytes_));
    return {};
  }

  void abandon() override { objects_ = nullptr; }

 private:
  Status check_not_over() const {
    if (objects_ != nullptr) return {};
    return fail(ErrorCode::kInvalidArgument, "the writer is committed or abandoned", {key_, -1, -1, -1});
  }

  const std::string key_;
  std::shared_ptr<Objects> objects_;  // nullptr: committed or abandoned
  std::vector<std::byte> bytes_;
};

MemoryStore::MemoryStore() : objects_(std::make_shared<Objects>()) {}

void MemoryStore::put(std::string key, std::vector<std::byte> bytes) {
  objects_->put(std::move(key), std::move(bytes));
}

StoreTraits MemoryStore::traits() const {
  return {.can_list = true, .can_write = true, .has_cheap_random_access = true, .has_versions = true};
}

Result<std::unique_ptr<Object>> MemoryStore::open(const std::string& key) const {
  auto contents = objects_->find(key);
  if (!contents) return no_such(key);
  return std::make_unique<MemoryObject>(key, contents->version, std::move(contents->bytes));
}

Result<ObjectVersion> MemoryStore::stat(const std::string& key) const {
  if (const auto contents = objects_->find(key)) return contents->version;
  if (objects_->list(key).empty()) return no_such(key);
  return ObjectVersion{};
}

Result<std::vector<FolderEntry>> MemoryStore::list(const std::string& key, const ListOptions& options) const {
  auto entries = objects_->list(key);
  if (entries.empty()) return no_such(key);
  for (FolderEntry& entry : entries)
    if (!entry.is_folder && !(options.wants_version && options.wants_version(entry.name))) entry.version.reset();
  return entries;
}

Result<std::unique_ptr<ObjectWriter>> MemoryStore::create(const std::string& key, const CreateOptions&) const {
  return std::make_unique<Writer>(key, objects_);
}

}  // namespace penstock
