// Decides which entries are admitted while the cache fills.
//
// An entry must be made as a whole, which can cost more than the sample needs: a random crop decodes only a
// part of its picture. Which samples are cached makes no difference to the hit rate. So, if not all of them
// fit, the cache admits the samples of which the largest share is made anyway, and just as many as fill it by
// the end of the first epoch. Thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "base/guarded.h"

namespace penstock {

class Admission {
 public:
  // Begins an epoch with this many calls of admits(). From the second epoch on, all entries are admitted.
  void start(std::uint64_t visits) PENSTOCK_EXCLUDES(mutex_);

  // `share` is the part of the entry that is made anyway, from 0 to 1. `free_bytes` is the free space in this
  // process's part of the cache.
  bool admits(double share, std::uint64_t entry_bytes, std::uint64_t free_bytes) PENSTOCK_EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kRemembered = 256;

  Mutex mutex_;
  bool is_first_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::uint64_t epochs_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t visits_ PENSTOCK_GUARDED_BY(mutex_) = 0, visited_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  double bytes_seen_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::array<float, kRemembered> shares_ PENSTOCK_GUARDED_BY(mutex_){};  // of the most recent visits
};

}  // namespace penstock
