// The answer of a read that runs on another thread, and the waiting for it.
//
// Thread-safe. The reader and the thread that answers share it, because the reader may return before the other thread
// has released the mutex.
#pragma once

#include <optional>
#include <utility>

#include "base/guarded.h"
#include "penstock/interruption.h"
#include "penstock/result.h"
#include "store/object_read.h"

namespace penstock {

class ReadAnswer {
 public:
  // Called once.
  void set(Result<ObjectBytes> answer) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    answer_ = std::move(answer);
    came_.notify_all();
  }

  bool is_there() const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return answer_.has_value();
  }

  Result<ObjectBytes> wait() PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return wait_locked();
  }

  // The same. If this thread is interrupted before, `give_up` is called once; it is expected to make the read end soon,
  // for which the function then still waits.
  template <typename GiveUp>
  Result<ObjectBytes> wait_interruptibly(GiveUp give_up) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    bool has_given_up = Interruption::current() == nullptr;
    while (!answer_ && !has_given_up) {
      const auto deadline = ConditionVariable::Clock::now() + Interruption::kLookEvery;
      while (!answer_ && came_.wait_until(mutex_, deadline)) {
      }
      if (answer_) break;
      const MutexUnlock unlocked(mutex_);
      if (!Interruption::is_requested()) continue;
      has_given_up = true;
      give_up();
    }
    return wait_locked();
  }

 private:
  Result<ObjectBytes> wait_locked() PENSTOCK_REQUIRES(mutex_) {
    while (!answer_) came_.wait(mutex_);
    return *answer_;
  }

  mutable Mutex mutex_;
  ConditionVariable came_;
  std::optional<Result<ObjectBytes>> answer_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock
