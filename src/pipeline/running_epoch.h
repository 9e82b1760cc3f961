// One epoch under way, as the scheduler sees it: which of its batches are open, who works on them, and who
// waits for them.
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

// What is to be done: one epoch, or what is left of one.
struct EpochTask {
  std::uint64_t epoch = 0;
  std::shared_ptr<const EpochOrder> order;
  RankSlice slice;
};

// What workers spent on an epoch. Outlives it: they may be at work when it is given up. Thread-safe.
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

// Guarded by the scheduler's mutex, but for the task, which never changes, and the reads and the interruption,
// which are thread-safe and stay until no worker is at work on the epoch.
struct RunningEpoch {
  explicit RunningEpoch(EpochTask task_) : task(std::move(task_)), to_open(task.slice.batches()) {}

  const EpochTask task;
  std::unique_ptr<EpochReads> reads;
  std::deque<std::shared_ptr<OpenBatch>> batches;  // in order of delivery
  std::uint64_t next_to_open = 0, to_open = 0;
  unsigned workers = 0;       // claims and deferred samples that are under way
  std::uint64_t asked_at = 0;  // since when somebody waits for its next batch; 0: nobody does
  bool is_cancelled = false;
  Interruption interruption{[] { return false; }};  // of workers, when the epoch is cancelled
  std::stop_source revoked;  // of deferred samples; requested without the scheduler's mutex
  bool is_out_of_memory = false;  // not one batch could be opened
  bool is_refused = false;        // other epochs hold the memory that its next batch needs
  const std::shared_ptr<EpochSpending> spent = std::make_shared<EpochSpending>();
  std::condition_variable batch_ready;

  void cancel() {
    is_cancelled = true;
    interruption.request();
  }
  bool is_handed_out() const { return batches.empty() && next_to_open >= to_open; }
  // Somebody waits for a batch that is not there yet.
  bool is_waited_for() const { return asked_at > 0 && (batches.empty() || !batches.front()->is_ready()); }
};

}  // namespace penstock
