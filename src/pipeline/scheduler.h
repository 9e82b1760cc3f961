// One work-conserving pool: every thread helps with the earliest unfinished batch.
//
// A batch opens when there is memory for it; its samples are claimed in order of delivery, a few
// at a time, and written straight into their slots. Batches leave in order. So the first batch
// takes B*d/T and a slow sample holds back only its own batch.
//
// Several epochs may be under way. Workers serve the one that has been waited for longest, else the one
// with the fewest batches. All of them open batches while there is memory; when it is short, an epoch
// takes the last batch of another that has at least two more, and that batch is made again later. So the
// memory ends up divided evenly among epochs whose batches are taken, and none can hold up another.
//
// One mutex guards the epochs and their batches; it is held to claim and to finish, never to work.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/memory/scratch.h"
#include "base/stats.h"
#include "batch/batch_pool.h"
#include "fetch/epoch_reads.h"
#include "pipeline/claim_runner.h"
#include "pipeline/running_epoch.h"
#include "sample/sample_maker.h"

namespace penstock {

// A batch whose samples are all done.
struct FinishedBatch {
  std::shared_ptr<void> memory;  // of everything below; lent
  std::byte* block = nullptr;
  BatchContents* contents = nullptr;
  std::uint64_t variable_bytes = 0;
  std::uint64_t planned = 0, kept = 0, replaced = 0;
  bool padded = false;
  std::vector<Error> errors;  // of samples skipped or replaced; or the one that fails the batch
  bool failed = false;
};

class Scheduler {
 public:
  struct Setup {
    const SamplePlan& plan;
    const SlotLayout& layout;
    std::shared_ptr<BatchPool> pool;
    std::shared_ptr<VariableMemory> room;
    std::shared_ptr<Ledger> ledger;
    ReadDivision& reads;
    std::uint64_t scratch_share_bytes = 0, scratch_pot_bytes = 0;
    std::uint64_t chunk_share_bytes = 0, chunk_pot_bytes = 0;
    std::uint64_t in_flight_bytes = 0;  // for samples that are finished elsewhere
    std::size_t cache_tiers = 0;        // whose hits workers count
    unsigned threads = 1;
    std::uint64_t prefetch = 1;
    BatchPolicy policy;
    // Makes the maker of one worker, on the worker's own thread.
    std::function<std::unique_ptr<SampleMaker>(ScratchBudget&, WorkerCounters&)> make_maker;
  };

  explicit Scheduler(const Setup& setup);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;

  // Begins with an epoch beside those under way. Fails where the memory for reading cannot carry one more.
  Result<std::shared_ptr<RunningEpoch>> start(EpochTask task);
  // Gives it up: its memory comes back at once, or when the samples that are being worked on are done.
  // Waits for nobody, so that a worker can do it too.
  void cancel(RunningEpoch& run);
  // Ends the workers, and with them all epochs. Several threads may call it.
  void stop();

  // How many workers work, and how many batches are made ahead, from now on. Memory was divided for the numbers that
  // the scheduler was made with, which are the most that are possible; the least is 1. Returns the numbers in force.
  struct Knobs {
    unsigned threads = 1;
    std::uint64_t prefetch = 1;
  };
  Knobs set_knobs(const Knobs& wanted);
  Knobs knobs() const;

  enum class Wait : std::uint8_t { kBatch, kEnd, kPending, kCancelled };
  // Several threads may wait, each for an epoch of its own.
  Wait next(RunningEpoch& run, FinishedBatch& out, std::chrono::milliseconds patience);

  // Is the calling thread a worker, of this or another scheduler?
  static bool is_own_thread();
  // Is this one of its threads?
  bool runs_here() const;

  // Epochs that still have batches to deliver.
  std::size_t epochs() const;
  std::uint64_t ready_batches() const;
  WorkerStats worker_stats() const;

 private:
  using RunPtr = std::shared_ptr<RunningEpoch>;
  void work(unsigned worker);
  std::optional<Claim> claim_samples();
  std::vector<RunPtr> in_order_of_need() const;
  std::optional<Claim> claim_from(const RunPtr& run);
  std::optional<Claim> claim_of(const RunPtr& run, const std::shared_ptr<OpenBatch>& batch);
  bool open_batch(RunningEpoch& run);
  bool take_batch_for(const RunningEpoch& run);
  bool make_variable_room_for(const RunningEpoch& run);
  bool others_hold_memory(const RunningEpoch& run) const;
  DeferredSample defer(const Claim& claim, std::uint64_t index, const std::optional<Replacement>& replacement,
                       std::size_t bytes);
  void complete_deferred(const RunPtr& run, OpenBatch& batch, Replacement sample, bool is_stand_in, Status status);
  void complete(OpenBatch& batch);
  void finish_claim(const Claim& claim, double seconds);
  void lend(OpenBatch& batch, FinishedBatch& out);
  void drop(RunningEpoch& run, OpenBatch& batch);
  void drop_last(RunningEpoch& run);
  void drop_idle_batches(RunningEpoch& run);
  std::unique_ptr<EpochReads> retire(RunningEpoch& run);
  std::vector<EpochReads*> reads_under_way() const;
  void wake_workers();

  const SamplePlan& plan_;
  const SlotLayout& layout_;
  const std::shared_ptr<BatchPool> pool_;
  const std::shared_ptr<VariableMemory> room_;
  const std::shared_ptr<Ledger> ledger_;
  ReadDivision& reads_;  // guarded by mutex_
  const Knobs limits_;
  const BatchPolicy policy_;
  const std::function<std::unique_ptr<SampleMaker>(ScratchBudget&, WorkerCounters&)> make_maker_;
  const std::shared_ptr<Area> in_flight_;
  const ClaimRunner runner_;
  ScratchBudget chunk_scratch_, scratch_;
  std::deque<WorkerCounters> counters_;  // one for each worker

  mutable std::mutex mutex_;
  std::condition_variable work_there_, deferred_done_;
  // The fields below are guarded by mutex_.
  std::vector<RunPtr> runs_;  // those with batches to deliver, and cancelled ones that are still worked on
  Knobs knobs_;
  std::uint64_t deferred_ = 0;  // samples that are finished elsewhere and not completed yet
  std::uint64_t questions_ = 0;
  unsigned idle_ = 0;
  double sample_seconds_ = 0;  // a moving average, to claim cheap samples in larger handfuls
  bool stopping_ = false;

  std::mutex stop_mutex_;  // guards the threads themselves
  std::vector<std::jthread> pool_threads_;
};

}  // namespace penstock
