// A store of objects in memory that counts what is asked of it.
//
// It may want reads ahead, as a server does; then it answers them at once, on the thread that starts them. Objects may
// be replaced at any time, also in the middle of a read (before_read). Thread-safe, but for before_read and before_list,
// which are set before the store is used.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/memory_store.h"
#include "support/text_bytes.h"

namespace penstock {

class WatchedStore final : public Store {
 public:
  explicit WatchedStore(std::size_t reads_ahead = 0) : reads_ahead_(reads_ahead) {}

  void put(std::string key, std::vector<std::byte> bytes) { objects_.put(std::move(key), std::move(bytes)); }
  void put(std::string key, std::string_view text) { put(std::move(key), bytes_of(text)); }

  struct Counts {
    int opened = 0;   // objects
    int read = 0;     // calls of Object::read_at()
    int asked = 0;    // versions
    int started = 0;  // calls of start_read(), each of which opens and reads an object, or asks for its version
    bool operator==(const Counts&) const = default;
  };
  Counts counts() const { return {opened_, *read_, asked_, started_}; }

  std::function<void()> before_read;
  std::function<void(const std::string& key)> before_list;

  StoreTraits traits() const override {
    StoreTraits traits = objects_.traits();
    traits.reads_ahead = traits.urgent_reads = reads_ahead_;
    return traits;
  }
  Result<std::unique_ptr<Object>> open(const std::string& key) const override {
    ++opened_;
    auto object = objects_.open(key);
    if (!object) return object;
    return std::make_unique<WatchedObject>(*this, key, std::move(*object));
  }
  Result<ObjectVersion> stat(const std::string& key) const override {
    ++asked_;
    return objects_.stat(key);
  }
  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    if (before_list) before_list(key);
    return objects_.list_pages(key, options, take);
  }
  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    ++started_;
    Store::start_read(std::move(wanted), std::move(allocate), std::move(stop), std::move(done));
  }

 private:
  // Says what the version is now, as a file does.
  class WatchedObject final : public Object {
   public:
    WatchedObject(const WatchedStore& store, std::string key, std::unique_ptr<Object> inner)
        : Object(inner->version()),
          objects_(store.objects_),
          key_(std::move(key)),
          inner_(std::move(inner)),
          before_read_(store.before_read),
          read_(store.read_) {}

    using Object::read_at;
    Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
      ++*read_;
      if (before_read_) before_read_();
      return inner_->read_at(offset, parts);
    }
    Result<ObjectVersion> version_now() const override { return objects_.stat(key_); }

   private:
    const MemoryStore objects_;  // a copy has the same objects
    const std::string key_;
    const std::unique_ptr<Object> inner_;
    const std::function<void()> before_read_;
    const std::shared_ptr<std::atomic<int>> read_;
  };

  const std::size_t reads_ahead_;
  MemoryStore objects_;
  mutable std::atomic<int> opened_{0}, asked_{0}, started_{0};
  const std::shared_ptr<std::atomic<int>> read_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace penstock
