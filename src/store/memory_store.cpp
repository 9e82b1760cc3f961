#include "store/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/guarded.h"
#include "penstock/interruption.h"

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

// What the keys of the objects below a folder begin with.
std::string as_prefix(std::string key) {
  while (key.ends_with('/')) key.pop_back();
  return key + "/";
}

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

  void put(std::string key, std::vector<std::byte> bytes) {
    const MutexLock lock(mutex_);
    const ObjectVersion version{bytes.size(), ++changes_};
    objects_[std::move(key)] = {std::make_shared<const std::vector<std::byte>>(std::move(bytes)), version};
  }

  std::optional<Contents> find(const std::string& key) const {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(key);
    return found == objects_.end() ? std::nullopt : std::optional(found->second);
  }

  // A page of a listing, as an object store makes it in one request.
  struct Page {
    std::vector<FolderEntry> entries;  // with all versions
    std::string next;                  // the key at which the next page begins
    bool is_last = true;
  };

  // Empty: no key begins with `prefix`, which ends with '/'.
  std::optional<Page> list(const std::string& prefix, const std::string& from, bool is_recursive,
                           std::size_t max_entries) const {
    const MutexLock lock(mutex_);
    auto object = objects_.lower_bound(prefix);
    if (!is_below(object, prefix)) return std::nullopt;
    if (from > prefix) object = objects_.lower_bound(from);
    Page page;
    while (is_below(object, prefix)) {
      if (page.entries.size() == max_entries) {
        page.next = object->first;
        page.is_last = false;
        break;
      }
      const std::string_view name = std::string_view(object->first).substr(prefix.size());
      const auto slash = name.find('/');
      if (!is_recursive && slash != std::string_view::npos) {
        if (slash > 0) page.entries.push_back({std::string(name.substr(0, slash)), true, std::nullopt});
        // '0' is the character behind '/', so this is the first key behind all that is in the folder.
        object = objects_.lower_bound(prefix + std::string(name.substr(0, slash)) + "0");
        continue;
      }
      if (is_name_of_object(name)) page.entries.push_back({std::string(name), false, object->second.version});
      ++object;
    }
    return page;
  }

 private:
  using Map = std::map<std::string, Contents>;

  bool is_below(Map::const_iterator object, const std::string& prefix) const PENSTOCK_REQUIRES(mutex_) {
    return object != objects_.end() && object->first.starts_with(prefix);
  }

  // A name that ends with '/' marks a folder, and folders without a name cannot be named.
  static bool is_name_of_object(std::string_view name) {
    return !name.empty() && !name.starts_with('/') && !name.ends_with('/') && name.find("//") == std::string_view::npos;
  }

  mutable Mutex mutex_;
  Map objects_ PENSTOCK_GUARDED_BY(mutex_);
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

MemoryStore::MemoryStore(std::size_t entries_per_page)
    : objects_(std::make_shared<Objects>()),
      entries_per_page_(entries_per_page) {}

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
  if (!objects_->list(as_prefix(key), "", true, 0)) return no_such(key);
  return ObjectVersion{};
}

Result<KeyKind> MemoryStore::kind_of(const std::string& key) const {
  if (objects_->find(key)) return KeyKind::kObject;
  return objects_->list(as_prefix(key), "", true, 0) ? KeyKind::kFolder : KeyKind::kNothing;
}

Status MemoryStore::list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const {
  const std::string prefix = as_prefix(key);
  RecursiveChoice choice(options);
  for (std::string from;;) {
    PENSTOCK_CHECK(check_interruption(key));
    auto page = objects_->list(prefix, from, options.is_recursive, entries_per_page_);
    if (!page && from.empty()) return no_such(key);
    if (!page) return {};
    Listing entries;
    for (FolderEntry& entry : page->entries) {
      const bool is_wanted = options.is_recursive ? choice.wants(entry.name)
                                                  : !options.wants || options.wants(entry.name, entry.is_folder);
      if (!is_wanted) continue;
      if (!entry.is_folder && !(options.wants_version && options.wants_version(entry.name))) entry.version.reset();
      PENSTOCK_CHECK(entries.add(std::move(entry), key));
    }
    const auto goes_on = take(std::move(entries));
    if (!goes_on) return std::unexpected(goes_on.error());
    if (!*goes_on || page->is_last) return {};
    from = std::move(page->next);
  }
}

Result<std::unique_ptr<ObjectWriter>> MemoryStore::create(const std::string& key, const CreateOptions&) const {
  return std::make_unique<Writer>(key, objects_);
}

}  // namespace penstock
