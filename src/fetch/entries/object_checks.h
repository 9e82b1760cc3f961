// Which objects were lately found to be in a certain version. For objects that many entries of the cache are
// made from, shards, so that each of them is looked at once and not once per entry.
//
// A table of fixed size in which later objects replace earlier ones: whoever is not found is looked at again.
// Thread-safe, without locks.
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
  // `since`: the moment after which it must have been looked at.
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
  // Each number stands for all that was put into it, so that no two of them have to be read together.
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
