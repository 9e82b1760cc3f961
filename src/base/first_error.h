// Collects the error of several threads that work on one thing: the first that is reported. Thread-safe.
#pragma once

#include <optional>
#include <utility>

#include "base/guarded.h"
#include "penstock/result.h"

namespace penstock {

class FirstError {
 public:
  void report(Error error) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  // Success if no thread has reported an error.
  Status status() PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    return {};
  }

 private:
  Mutex mutex_;
  std::optional<Error> error_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock
