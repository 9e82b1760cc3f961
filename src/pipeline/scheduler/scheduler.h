// One work-conserving pool of threads: every thread helps with the earliest unfinished batch.
//
// A batch is opened when there is memory for it (running_epochs.h). Its samples are claimed in order of delivery
// (claim_queue.h) and written straight into their slots (claim_runner.h), or handed to code that finishes them later
// (deferred_samples.h). Batches are delivered in order (batch_delivery.h). This file has the threads.
//
// Several epochs may be in progress. One mutex guards the epochs and their batches; it is held to claim and to finish,
// never to work.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "base/memory/scratch.h"
#include "base/stats.h"
#include "batch/batch_pool.h"
#include "fetch/epoch_reads.h"
#include "pipeline/scheduler/batch_delivery.h"
#include "pipeline/scheduler/claim_queue.h"
#include "pipeline/scheduler/claim_runner.h"
#include "pipeline/scheduler/deferred_samples.h"
#include "pipeline/scheduler/running_epochs.h"
#include "sample/sample_maker.h"

namespace penstock {

class Scheduler {
 public:
  struct Setup {
    const SamplePlan& plan;
    const SlotLayout& layout;
    std::shared_ptr<BatchPool> pool;
    std::shared_ptr<VariableMemory> variable_memory;
    std::shared_ptr<Ledger> ledger;
    ReadDivision& reads;
    std::uint64_t scratch_share_bytes = 0, scratch_pot_bytes = 0;
    std::uint64_t chunk_share_bytes = 0, chunk_pot_bytes = 0;
    std::uint64_t in_flight_bytes = 0;  // for samples that are finished elsewhere
    std::size_t cache_tiers = 0;        // whose hits the workers count
    unsigned threads = 1;
    std::uint64_t prefetch = 1;
    BatchPolicy policy;
    // Makes the maker of one worker, on the worker's own thread.
    std::function<std::unique_ptr<SampleMaker>(ScratchBudget&, WorkerCounters&)> make_maker;
  };

  explicit Scheduler(const Setup& setup);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;

  // Starts an epoch beside those in progress. Fails if the memory for reading does not suffice for one more.
  Result<std::shared_ptr<RunningEpoch>> start(EpochTask task) PENSTOCK_EXCLUDES(SchedulerMutex::held);
  // Gives the epoch up. Its memory is released at once, or when the samples that workers still make are done. This does
  // not wait, so that a worker can call it too.
  void cancel(RunningEpoch& run) PENSTOCK_EXCLUDES(SchedulerMutex::held);
  // Ends the workers, and with them all epochs. Several threads may call it.
  void stop() PENSTOCK_EXCLUDES(SchedulerMutex::held, stop_mutex_);

  // Sets the number of workers that work and of batches that are made ahead. Memory was divided for the numbers that
  // the scheduler was made with, so those are the largest possible ones; the smallest is 1. Returns the numbers in
  // force.
  using Knobs = ClaimQueue::Knobs;
  Knobs set_knobs(const Knobs& wanted) PENSTOCK_EXCLUDES(SchedulerMutex::held);
  Knobs knobs() const PENSTOCK_EXCLUDES(SchedulerMutex::held);

  using Wait = BatchDelivery::Wait;
  // Several threads may wait, each for an epoch of its own.
  Wait next(RunningEpoch& run, FinishedBatch& out, std::chrono::milliseconds patience)
      PENSTOCK_EXCLUDES(SchedulerMutex::held) {
    return delivery_.next(run, out, patience);
  }

  // Whether the calling thread is a worker of this or another scheduler.
  static bool is_own_thread();
  // Whether the calling thread is a worker of this scheduler.
  bool runs_here() const;

  // Returns the number of epochs that still have batches to deliver.
  std::size_t epochs() const PENSTOCK_EXCLUDES(SchedulerMutex::held);
  std::uint64_t ready_batches() const PENSTOCK_EXCLUDES(SchedulerMutex::held);
  WorkerStats worker_stats() const;

 private:
  void work(unsigned worker) PENSTOCK_EXCLUDES(SchedulerMutex::held);
  void wake_workers() PENSTOCK_EXCLUDES(SchedulerMutex::held);

  const std::shared_ptr<BatchPool> pool_;
  const std::shared_ptr<VariableMemory> variable_memory_;
  const std::shared_ptr<Ledger> ledger_;
  const Knobs limits_;
  const std::function<std::unique_ptr<SampleMaker>(ScratchBudget&, WorkerCounters&)> make_maker_;
  ScratchBudget chunk_scratch_, scratch_;
  std::deque<WorkerCounters> counters_;  // one for each worker

  RunningEpochs epochs_;
  ClaimQueue claims_;
  const ClaimRunner runner_;
  DeferredSamples deferred_;
  BatchDelivery delivery_;

  Mutex stop_mutex_ PENSTOCK_ACQUIRED_BEFORE(epochs_.mutex);
  std::vector<std::jthread> pool_threads_ PENSTOCK_GUARDED_BY(stop_mutex_);
};

}  // namespace penstock
