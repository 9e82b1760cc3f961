// One work-conserving pool: every thread helps with the earliest unfinished batch.
//
// A batch opens when there is memory for it; its samples are claimed in order of delivery, a few
// at a time, and written straight into their slots. Batches leave in order. So the first batch
// takes B*d/T and a slow sample holds back only its own batch.
//
// One mutex guards the list of batches; it is held to claim and to finish, never to work.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/scratch.h"
#include "base/stats.h"
#include "batch/batch_contents.h"
#include "batch/batch_pool.h"
#include "order/epoch_order.h"
#include "order/rank_slice.h"
#include "pipeline/sample_worker.h"

namespace penstock {

// What a run of the pipeline works off: one epoch, or what is left of one.
struct EpochTask {
  std::uint64_t epoch = 0;
  std::shared_ptr<const EpochOrder> order;
  RankSlice slice;
};

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
    std::shared_ptr<VariableRoom> room;
    std::shared_ptr<Ledger> ledger;
    SharedReads shared;
    std::uint64_t scratch_share_bytes = 0, scratch_pot_bytes = 0;
    unsigned threads = 1;
    std::uint64_t prefetch = 1;
    BatchPolicy policy;
  };

  explicit Scheduler(const Setup& setup);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;

  // Drops what is under way and starts on this; waits for samples being worked on.
  void start(EpochTask task);
  void cancel();

  enum class Wait : std::uint8_t { kBatch, kEnd, kPending };
  Wait next(FinishedBatch& out, std::chrono::milliseconds patience);

  // Is the calling thread a worker, of this or another scheduler?
  static bool is_own_thread();

  std::uint64_t ready_batches() const;
  WorkerStats worker_stats() const;

 private:
  struct OpenBatch;
  struct Claim {
    std::shared_ptr<OpenBatch> batch;
    std::uint64_t first = 0, count = 0;    // count 0: to complete the batch
    std::vector<std::uint64_t> put_off{};  // samples for which there was no room yet
  };

  void work(unsigned worker);
  std::optional<Claim> claim_samples();
  bool open_batch();
  std::optional<Claim> claim_of(const std::shared_ptr<OpenBatch>& batch);
  void make_samples(Claim& claim, SampleWorker& worker);
  Result<bool> make_one(OpenBatch& batch, std::uint64_t index, SampleWorker& worker);
  void complete(OpenBatch& batch);
  void finish_claim(const Claim& claim, double seconds);
  void lend(OpenBatch& batch, FinishedBatch& out);
  void drop_batches();
  void wake_workers();

  const SamplePlan& plan_;
  const SlotLayout& layout_;
  const std::shared_ptr<BatchPool> pool_;
  const std::shared_ptr<VariableRoom> room_;
  const std::shared_ptr<Ledger> ledger_;
  const SharedReads shared_;
  const std::uint64_t prefetch_;
  const BatchPolicy policy_;
  const unsigned threads_;
  ScratchBudget scratch_;
  std::vector<WorkerCounters> counters_;

  mutable std::mutex mutex_;
  std::condition_variable work_there_, batch_ready_, claims_done_;
  EpochTask task_;                                  // the fields below are guarded by mutex_
  std::deque<std::shared_ptr<OpenBatch>> batches_;  // in order of delivery
  std::uint64_t next_to_open_ = 0, to_open_ = 0;
  unsigned idle_ = 0, busy_ = 0;
  double sample_seconds_ = 0;  // a moving average, to claim cheap samples in larger handfuls
  bool stopping_ = false;
  bool out_of_memory_ = false;  // not one batch could be opened
  std::vector<std::jthread> pool_threads_;
};

}  // namespace penstock
