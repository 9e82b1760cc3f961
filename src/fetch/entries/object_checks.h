// Remembers the versions of objects that were checked lately. Many cache entries are made from the same shard; thanks
// to this table its version is checked once and not once per entry.
//
// The table has a fixed size, and later objects overwrite earlier ones: an object that is not found is checked again.
// Thread-safe and lock-free.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "base/random.h"
#include "store/store.h"

namespace penstock {

class ObjectChecks {
 public:
  // `since` is the moment after which the object must have been checked.
  bool is_version(std::string_view object, std::uint32_t since, const ObjectVersion& version) const {
    const std::uint64_t name = name_of(object, since);
    return place(name).version.load(std::memory_order_relaxed) == with_version(name, version);
  }
  bool was_looked_at(std::string_view object, std::uint32_t since) const {
    const std::uint64_t name = name_of(object, since);
    return place(name).name.load(std::memory_order_relaxed) == name;
  }
  void note(std::string_view object, std::uint32_t since, const ObjectVersion& version) {
    const std::uint64_t name = name_of(object, since);
    place(name).version.store(with_version(name, version), std::memory_order_relaxed);
    place(name).name.store(name, std::memory_order_relaxed);
  }

 private:
  // Each number is a hash of all that is to be compared, so that no two of them need to be read together.
  struct Place {
    std::atomic<std::uint64_t> name{0}, version{0};
  };
  static std::uint64_t name_of(std::string_view object, std::uint32_t since) {
    return hash_text(object, since);
  }
  static std::uint64_t with_version(std::uint64_t name, const ObjectVersion& version) {
    return mix64(name ^ mix64(version.size ^ mix64(static_cast<std::uint64_t>(version.modified_ns) ^
                                                   mix64(version.stamp))));
  }
  const Place& place(std::uint64_t name) const { return places_[name % places_.size()]; }
  Place& place(std::uint64_t name) { return places_[name % places_.size()]; }

  std::array<Place, 8192> places_;
};

}  // namespace penstock
