// One epoch under way, as the scheduler sees it: which of its batches are open, who works on them, and who
// waits for them.
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

// What is to be done: one epoch, or what is left of one.
struct EpochTask {
  std::uint64_t epoch = 0;
  std::shared_ptr<const EpochOrder> order;
  RankSlice slice;
};

// What workers spent on an epoch. Outlives it: they may be at work when it is given up. Thread-safe.
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

// The task never changes. The reads are thread-safe and stay until no worker is at work on the epoch.
struct RunningEpoch {
  explicit RunningEpoch(EpochTask task_) : task(std::move(task_)), to_open(task.slice.batches()) {}

  const EpochTask task;
  std::unique_ptr<EpochReads> reads PENSTOCK_GUARDED_BY(SchedulerMutex::held);
  std::deque<std::shared_ptr<OpenBatch>> batches PENSTOCK_GUARDED_BY(SchedulerMutex::held);  // in order of delivery
  std::uint64_t next_to_open PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
  const std::uint64_t to_open;
  unsigned workers PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;  // claims and deferred samples that are under way
  // Since when somebody waits for its next batch; 0: nobody does.
  std::uint64_t asked_at PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
  bool is_cancelled PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;
  Interruption interruption{[] { return false; }};  // of workers, when the epoch is cancelled
  std::stop_source revoked;  // of deferred samples; requested without the scheduler's mutex
  bool is_out_of_memory PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;  // not one batch could be opened
  // Other epochs hold the memory that its next batch needs.
  bool is_refused PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;
  const std::shared_ptr<EpochSpending> spent = std::make_shared<EpochSpending>();
  ConditionVariable batch_ready;

  void cancel() PENSTOCK_REQUIRES(SchedulerMutex::held) {
    is_cancelled = true;
    interruption.request();
  }
  // It was given up, and nobody is at work on it any more.
  bool is_left() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return is_cancelled && workers == 0; }
  bool is_handed_out() const PENSTOCK_REQUIRES(SchedulerMutex::held) {
    return batches.empty() && next_to_open >= to_open;
  }
  // Somebody waits for a batch that is not there yet.
  bool is_waited_for() const PENSTOCK_REQUIRES(SchedulerMutex::held) {
    return asked_at > 0 && (batches.empty() || !batches.front()->is_ready());
  }
};

}  // namespace penstock
