// The epochs in progress, their batches in the making, and the memory that these hold.
//
// All epochs open batches while there is memory. When memory is short, an epoch takes the last batch of another epoch
// that has at least two more, and that batch is made again later. So memory is divided evenly among the epochs whose
// batches are consumed, and none of them can block another.
//
// The parts of the scheduler share this object and its mutex, which they hold to claim and to finish, never to work.
#pragma once

#include <memory>
#include <vector>

#include "base/guarded.h"
#include "batch/batch_pool.h"
#include "batch/slot_layout.h"
#include "batch/variable_memory.h"
#include "fetch/epoch_reads.h"
#include "pipeline/scheduler/running_epoch.h"

namespace penstock {

class RunningEpochs {
 public:
  using RunPtr = std::shared_ptr<RunningEpoch>;

  // Borrows all arguments.
  RunningEpochs(const SlotLayout& layout, BatchPool& pool, VariableMemory& variable_memory, ReadDivision& reads)
      : layout_(layout),
        pool_(pool),
        variable_memory_(variable_memory),
        reads_(reads) {}

  // Guards the epochs, their batches, and the state of the other parts of the scheduler.
  mutable SchedulerMutex mutex;

  // Fails if the memory for reading does not suffice for one more epoch.
  Status start(const RunPtr& run) PENSTOCK_REQUIRES(SchedulerMutex::held);
  // Gives the epoch up. Its memory is released at once, except for batches that workers still make. The reads that this
  // function and those below return must be destroyed without the lock, because that may wait for a store.
  std::unique_ptr<EpochReads> cancel(RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);
  // Removes an epoch that no worker is at work on and that no worker will be given.
  std::unique_ptr<EpochReads> retire(RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);

  // Returns the epochs with batches to deliver, and cancelled ones that workers still work on.
  const std::vector<RunPtr>& all() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return runs_; }
  // Returns the number of epochs that still have batches to deliver.
  std::size_t under_way() const PENSTOCK_REQUIRES(SchedulerMutex::held);
  // The epoch whose consumer has waited longest comes first, then those with the fewest batches, and among equal ones
  // the newest.
  std::vector<RunPtr> in_order_of_need() const PENSTOCK_REQUIRES(SchedulerMutex::held);
  // Whether some epoch will have more work once there is memory.
  bool is_queue_full() const PENSTOCK_REQUIRES(SchedulerMutex::held);
  std::uint64_t ready_batches() const PENSTOCK_REQUIRES(SchedulerMutex::held);

  // Opens the epoch's next batch if fewer than `prefetch` are open and there is memory. Returns whether it did.
  bool open_batch(RunningEpoch& run, std::uint64_t prefetch) PENSTOCK_REQUIRES(SchedulerMutex::held);
  // Called if the epoch's next batch was refused memory for fields of variable size. Returns whether it may try again.
  // The epoch whose consumer waits takes batches of other epochs, even those that they would deliver next. If the
  // others have no batches, it has all of the memory.
  bool make_variable_memory_for(const RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);

  // Called when the scheduler ends: nothing is claimed or delivered any more. Returns the epochs that were in progress.
  std::vector<RunPtr> stop() PENSTOCK_REQUIRES(SchedulerMutex::held);
  // Removes all epochs. No worker may be left.
  std::vector<std::unique_ptr<EpochReads>> retire_all() PENSTOCK_REQUIRES(SchedulerMutex::held);
  bool is_stopping() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return is_stopping_; }

  // Called by a worker that finds nothing to do. Waits until there may be work.
  void wait_for_work() PENSTOCK_REQUIRES(mutex, SchedulerMutex::held);
  // Called when there may be work. The caller holds the mutex, so this wakes workers only if some are waiting.
  void wake_idle_workers() PENSTOCK_REQUIRES(SchedulerMutex::held);
  void wake_workers() { work_there_.notify_all(); }

 private:
  void drop_idle_batches(RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);
  void drop(RunningEpoch& run, OpenBatch& batch) PENSTOCK_REQUIRES(SchedulerMutex::held);
  void drop_last(RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);
  bool take_batch_for(const RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);
  bool others_hold_memory(const RunningEpoch& run) const PENSTOCK_REQUIRES(SchedulerMutex::held);
  std::vector<EpochReads*> reads_under_way() const PENSTOCK_REQUIRES(SchedulerMutex::held);

  const SlotLayout& layout_;
  BatchPool& pool_;
  VariableMemory& variable_memory_;
  ReadDivision& reads_ PENSTOCK_GUARDED_BY(SchedulerMutex::held);
  std::vector<RunPtr> runs_ PENSTOCK_GUARDED_BY(SchedulerMutex::held);
  bool is_stopping_ PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;
  ConditionVariable work_there_;
  unsigned idle_ PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
};

}  // namespace penstock
