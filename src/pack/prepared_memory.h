// The memory for samples that are prepared and wait to be written.
//
// Samples are claimed in order, and any of them may take memory of the queue. The earliest sample that is not written yet
// may also take the reserve, so it always goes on, and with it everything behind it. A sample that is refused is dropped
// and made again later: no thread waits while it holds memory. So whether a sample fits depends on the budget alone, never
// on timing. Thread-safe.
#pragma once

#include <cstdint>
#include <set>

#include "base/guarded.h"
#include "penstock/result.h"

namespace penstock {

class PreparedMemory {
 public:
  PreparedMemory(std::uint64_t queue_bytes, std::uint64_t reserve_bytes)
      : queue_bytes_(queue_bytes),
        reserve_bytes_(reserve_bytes) {}

  enum class Answer : std::uint8_t {
    kYes,
    kLater,  // earlier samples hold the memory
    kNever,  // the sample is larger than the reserve
  };
  // `whole` is what the sample holds together with `more`.
  Answer take(std::uint64_t position, std::uint64_t more, std::uint64_t whole) PENSTOCK_EXCLUDES(mutex_);
  void give_back(std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_);

  // Waits until a sample of this size may succeed. Returns false once the run was stopped. Threads that found the queue full
  // go on when half of it is free, all together: to wake each for every sample would cost more than the samples.
  bool wait_for(std::uint64_t position, std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_);
  // The earliest position that is not written yet.
  void set_earliest(std::uint64_t position) PENSTOCK_EXCLUDES(mutex_);
  void stop() PENSTOCK_EXCLUDES(mutex_);

  std::uint64_t reserve_bytes() const { return reserve_bytes_; }
  std::uint64_t peak() const PENSTOCK_EXCLUDES(mutex_);

 private:
  const std::uint64_t queue_bytes_, reserve_bytes_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::uint64_t held_ PENSTOCK_GUARDED_BY(mutex_) = 0, peak_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t earliest_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::multiset<std::uint64_t> waiting_ PENSTOCK_GUARDED_BY(mutex_);  // positions
};

}  // namespace penstock
