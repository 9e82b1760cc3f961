// A mutex in memory that processes share. If its holder dies, the next process gets it.
//
// Lies in shared memory, so it has no constructor: init() makes it, and must not be called while it is in use.
// Thread-safe, between processes, too.
#pragma once

#include <pthread.h>

#include <chrono>

#include "base/guarded.h"

namespace penstock {

class PENSTOCK_CAPABILITY("mutex") RobustMutex {
 public:
  void init();

  // If the holder died, the mutex is locked as if it had been free; so what it guards must be valid after every store.
  bool try_lock() PENSTOCK_TRY_ACQUIRE(true);
  bool try_lock_for(std::chrono::nanoseconds patience) PENSTOCK_TRY_ACQUIRE(true);
  void unlock() PENSTOCK_RELEASE() { pthread_mutex_unlock(&mutex_); }

 private:
  bool is_locked_after(int answer);

  pthread_mutex_t mutex_;
};

// Unlocks a mutex that this thread has locked at the end of the scope.
class PENSTOCK_SCOPED_CAPABILITY RobustMutexHold {
 public:
  explicit RobustMutexHold(RobustMutex& mutex) PENSTOCK_REQUIRES(mutex) : mutex_(mutex) {}
  RobustMutexHold(const RobustMutexHold&) = delete;
  ~RobustMutexHold() PENSTOCK_RELEASE() { mutex_.unlock(); }

 private:
  RobustMutex& mutex_;
};

}  // namespace penstock
