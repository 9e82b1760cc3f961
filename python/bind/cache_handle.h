// The cache as Python sees it, and its warnings. Any thread of the engine may add a warning; Python takes them.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "penstock/cache.h"

namespace penstock::python {

// Thread-safe.
class Warnings {
 public:
  void add(const std::string& message) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    messages_.push_back(message);
    is_any_ = true;
  }
  std::vector<std::string> take() PENSTOCK_EXCLUDES(mutex_) {
    if (!is_any_.exchange(false)) return {};
    const MutexLock lock(mutex_);
    return std::exchange(messages_, {});
  }

 private:
  std::atomic<bool> is_any_{false};
  Mutex mutex_;
  std::vector<std::string> messages_ PENSTOCK_GUARDED_BY(mutex_);
};

struct CacheHandle {
  std::shared_ptr<Cache> cache;  // nullptr: closed
  std::shared_ptr<Warnings> warnings;
};

nanobind::dict tiers_dict(const std::vector<TierState>& tiers);

}  // namespace penstock::python
