// The scheduler's record of an epoch in progress: which of its batches are open, how many workers work on them, and
// whether the consumer waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "base/stats.h"
#include "batch/batch_contents.h"
#include "order/epoch_order.h"
#include "order/rank_slice.h"
#include "penstock/interruption.h"
#include "fetch/epoch_reads.h"
#include "pipeline/open_batch.h"

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
  void add(const WorkerStats& more) {
    const std::lock_guard lock(mutex_);
    sum_ += more;
  }
  WorkerStats sum() const {
    const std::lock_guard lock(mutex_);
    return sum_;
  }

 private:
  mutable std::mutex mutex_;
  WorkerStats sum_;
};

// The scheduler's mutex guards this, with two exceptions: the task never changes, and the reads and the interruption
// are thread-safe and exist until no worker is at work on the epoch.
struct RunningEpoch {
  explicit RunningEpoch(EpochTask task_) : task(std::move(task_)), to_open(task.slice.batches()) {}

  const EpochTask task;
  std::unique_ptr<EpochReads> reads;
  std::deque<std::shared_ptr<OpenBatch>> batches;  // in order of delivery
  std::uint64_t next_to_open = 0, to_open = 0;
  unsigned workers = 0;        // claims and deferred samples in progress
  std::uint64_t asked_at = 0;  // when the consumer began to wait for the next batch; 0: it does not wait
  bool is_cancelled = false;
  Interruption interruption{[] { return false; }};  // interrupts workers when the epoch is cancelled
  std::stop_source revoked;  // revokes deferred samples; requested without the scheduler's mutex
  bool is_out_of_memory = false;  // not one batch could be opened
  bool is_refused = false;        // other epochs hold the memory that its next batch needs
  const std::shared_ptr<EpochSpending> spent = std::make_shared<EpochSpending>();
  std::condition_variable batch_ready;

  void cancel() {
    is_cancelled = true;
    interruption.request();
  }
  bool is_handed_out() const { return batches.empty() && next_to_open >= to_open; }
  // Whether the consumer waits for a batch that is not ready.
  bool is_waited_for() const { return asked_at > 0 && (batches.empty() || !batches.front()->is_ready()); }
};

}  // namespace penstock
