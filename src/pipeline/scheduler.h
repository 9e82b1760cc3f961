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
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/memory/scratch.h"
#include "base/stats.h"
#include "batch/batch_pool.h"
#include "fetch/epoch_reads.h"
#include "pipeline/running_epoch.h"
#include "sample/sample_worker.h"

namespace penstock {

struct BatchPolicy {
  OnError on_error = OnError::kRaise;
  std::uint64_t seed = 0;  // to choose stand-ins by
  double pad_value = 0;
};

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
    unsigned threads = 1;
    std::uint64_t prefetch = 1;
    BatchPolicy policy;
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
  struct Claim {
    RunPtr run;
    std::shared_ptr<OpenBatch> batch;
    std::uint64_t first = 0, count = 0;    // count 0: to complete the batch
    std::vector<std::uint64_t> put_off{};  // samples for which there was no room yet
  };

  void work(unsigned worker);
  std::optional<Claim> claim_samples();
  std::vector<RunPtr> in_order_of_need() const;
  std::optional<Claim> claim_from(const RunPtr& run);
  std::optional<Claim> claim_of(const RunPtr& run, const std::shared_ptr<OpenBatch>& batch);
  bool open_batch(RunningEpoch& run);
  bool take_batch_for(const RunningEpoch& run);
  bool make_variable_room_for(const RunningEpoch& run);
  bool others_hold_memory(const RunningEpoch& run) const;
  void make_samples(Claim& claim, SampleWorker& worker);
  Result<bool> make_one(const Claim& claim, std::uint64_t index, SampleWorker& worker);
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
  const std::uint64_t prefetch_;
  const BatchPolicy policy_;
  const unsigned threads_;
  ScratchBudget chunk_scratch_, scratch_;
  std::vector<WorkerCounters> counters_;

  mutable std::mutex mutex_;
  std::condition_variable work_there_;
  // The fields below are guarded by mutex_.
  std::vector<RunPtr> runs_;  // those with batches to deliver, and cancelled ones that are still worked on
  std::uint64_t questions_ = 0;
  unsigned idle_ = 0;
  double sample_seconds_ = 0;  // a moving average, to claim cheap samples in larger handfuls
  bool stopping_ = false;

  std::mutex stop_mutex_;  // guards the threads themselves
  std::vector<std::jthread> pool_threads_;
};

}  // namespace penstock
