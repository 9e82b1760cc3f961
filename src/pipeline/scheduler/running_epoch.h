// The scheduler's record of an epoch in progress: which of its batches are open, how many workers work on them, and
// whether the consumer waits.
#pragma once

#include <deque>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/guarded.h"
#include "base/stats.h"
#include "batch/batch_contents.h"
#include "order/epoch_order.h"
#include "order/rank_slice.h"
#include "penstock/interruption.h"
#include "fetch/epoch_reads.h"
#include "pipeline/scheduler/open_batch.h"

namespace penstock {

// The work to do: one epoch, or the rest of one.
struct EpochTask {
  std::uint64_t epoch = 0;
  std::shared_ptr<const EpochOrder> order;
  RankSlice slice;
};

// The time and bytes that workers spent on an epoch. It outlives the epoch, because workers may still be at work when
// the epoch is given up. Thread-safe.
class EpochSpending {
 public:
  void add(const WorkerStats& more) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    sum_ += more;
  }
  WorkerStats sum() const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return sum_;
  }

 private:
  mutable Mutex mutex_;
  WorkerStats sum_ PENSTOCK_GUARDED_BY(mutex_);
};

// The scheduler's mutex guards this, with two exceptions: the task never changes, and the reads and the interruption
// are thread-safe and exist until no worker is at work on the epoch.
struct RunningEpoch {
  explicit RunningEpoch(EpochTask task_) : task(std::move(task_)), to_open(task.slice.batches()) {}

  const EpochTask task;
  std::unique_ptr<EpochReads> reads PENSTOCK_GUARDED_BY(SchedulerMutex::held);
  std::deque<std::shared_ptr<OpenBatch>> batches PENSTOCK_GUARDED_BY(SchedulerMutex::held);  // in order of delivery
  std::uint64_t next_to_open PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
  const std::uint64_t to_open;
  unsigned workers PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;  // claims and deferred samples in progress
  // Orders epochs by when the consumer began to wait for the next batch; 0: it does not wait.
  std::uint64_t asked_at PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
  bool is_cancelled PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;
  Interruption interruption{[] { return false; }};  // interrupts workers when the epoch is cancelled
  std::stop_source revoked;  // revokes deferred samples; requested without the scheduler's mutex
  bool is_out_of_memory PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;  // not one batch could be opened
  // Other epochs hold the memory that its next batch needs.
  bool is_refused PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;
  const std::shared_ptr<EpochSpending> spent = std::make_shared<EpochSpending>();
  ConditionVariable batch_ready;

  void cancel() PENSTOCK_REQUIRES(SchedulerMutex::held) {
    is_cancelled = true;
    interruption.request();
  }
  // Whether the epoch was given up and no worker is at work on it any more.
  bool is_left() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return is_cancelled && workers == 0; }
  bool is_handed_out() const PENSTOCK_REQUIRES(SchedulerMutex::held) {
    return batches.empty() && next_to_open >= to_open;
  }
  // Whether the consumer waits for a batch that is not ready.
  bool is_waited_for() const PENSTOCK_REQUIRES(SchedulerMutex::held) {
    return asked_at > 0 && (batches.empty() || !batches.front()->is_ready());
  }
};

}  // namespace penstock
