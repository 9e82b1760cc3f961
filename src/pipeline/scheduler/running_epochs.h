// The epochs under way, their batches in the making, and the memory that these hold.
//
// All epochs open batches while there is memory. When it is short, an epoch takes the last batch of another that has at
// least two more, and that batch is made again later. So the memory ends up divided evenly among epochs whose batches
// are taken, and none can hold up another.
//
// The parts of the scheduler share it and its mutex, which they hold to claim and to finish, never to work.
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
  RunningEpochs(const SlotLayout& layout, BatchPool& pool, VariableMemory& room, ReadDivision& reads)
      : layout_(layout),
        pool_(pool),
        room_(room),
        reads_(reads) {}

  // Guards the epochs, their batches, and what the other parts of the scheduler keep.
  mutable SchedulerMutex mutex;

  // Fails where the memory for reading cannot carry one more.
  Status start(const RunPtr& run) PENSTOCK_REQUIRES(SchedulerMutex::held);
  // Gives the epoch up. Its memory comes back at once, but for batches that are being worked on. What is returned, here
  // and below, is to be destroyed without the lock, because that may wait for a store.
  std::unique_ptr<EpochReads> cancel(RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);
  // No worker is at work on the epoch, and none will be.
  std::unique_ptr<EpochReads> retire(RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);

  // Those with batches to deliver, and cancelled ones that are still worked on.
  const std::vector<RunPtr>& all() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return runs_; }
  // Epochs that still have batches to deliver.
  std::size_t under_way() const PENSTOCK_REQUIRES(SchedulerMutex::held);
  // The one that has been waited for longest comes first; then those with the fewest batches, the newest of them first.
  std::vector<RunPtr> in_order_of_need() const PENSTOCK_REQUIRES(SchedulerMutex::held);
  // Some epoch will have more to do once there is memory.
  bool is_queue_full() const PENSTOCK_REQUIRES(SchedulerMutex::held);
  std::uint64_t ready_batches() const PENSTOCK_REQUIRES(SchedulerMutex::held);

  // Begins with the epoch's next batch, if fewer than `prefetch` are under way and there is memory.
  bool open_batch(RunningEpoch& run, std::uint64_t prefetch) PENSTOCK_REQUIRES(SchedulerMutex::held);
  // True: the epoch's next batch, which was refused memory for what varies, may try again. The epoch that is waited for
  // takes batches of others, even their next ones; where they have none, it has all of the memory.
  bool make_variable_room_for(const RunningEpoch& run) PENSTOCK_REQUIRES(SchedulerMutex::held);

  // The scheduler ends: nothing is claimed or delivered any more. Returns the epochs that were under way.
  std::vector<RunPtr> stop() PENSTOCK_REQUIRES(SchedulerMutex::held);
  // No worker is left.
  std::vector<std::unique_ptr<EpochReads>> retire_all() PENSTOCK_REQUIRES(SchedulerMutex::held);
  bool is_stopping() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return is_stopping_; }

  // For a worker that finds nothing to do.
  void wait_for_work() PENSTOCK_REQUIRES(mutex, SchedulerMutex::held);
  // There may be something to do. Whoever holds the mutex knows whether any worker waits.
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
  VariableMemory& room_;
  ReadDivision& reads_ PENSTOCK_GUARDED_BY(SchedulerMutex::held);
  std::vector<RunPtr> runs_ PENSTOCK_GUARDED_BY(SchedulerMutex::held);
  bool is_stopping_ PENSTOCK_GUARDED_BY(SchedulerMutex::held) = false;
  ConditionVariable work_there_;
  unsigned idle_ PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
};

}  // namespace penstock
