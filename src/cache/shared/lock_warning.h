// Warns once if another process does not release the lock of a tier's table. Thread-safe.
#pragma once

#include <atomic>

#include "cache/shared/entry_table.h"
#include "cache/tier.h"

namespace penstock {

class LockWarning {
 public:
  void look_at(const EntryTable& table, const Warn& warn) {
    if (table.lock_timeouts() == 0 || was_given_.exchange(true) || !warn) return;
    warn(
        "another process has the cache's table locked and does not release it (is it stopped?): nothing is "
        "cached until it does");
  }

 private:
  std::atomic<bool> was_given_ = false;
};

}  // namespace penstock
