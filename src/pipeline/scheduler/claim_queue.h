// Chooses what the workers do next: every thread helps with the earliest unfinished batch.
//
// The samples of a batch are claimed in order of delivery, a few at a time. So the first batch takes the time of its
// samples divided by the number of threads, and a slow sample holds back only its own batch. Workers serve the epoch
// whose consumer has waited longest, or else the one with the fewest batches. Callers hold the scheduler's mutex.
#pragma once

#include <memory>
#include <optional>

#include "pipeline/scheduler/claim_runner.h"
#include "pipeline/scheduler/running_epochs.h"

namespace penstock {

class ClaimQueue {
 public:
  // The number of workers that work, and of batches that are made ahead.
  struct Knobs {
    unsigned threads = 1;
    std::uint64_t prefetch = 1;
  };

  ClaimQueue(RunningEpochs& epochs, const VariableMemory& variable_memory, const Knobs& knobs)
      : epochs_(epochs),
        variable_memory_(variable_memory),
        knobs_(knobs) {}

  void set_knobs(const Knobs& knobs) PENSTOCK_REQUIRES(SchedulerMutex::held) { knobs_ = knobs; }
  Knobs knobs() const PENSTOCK_REQUIRES(SchedulerMutex::held) { return knobs_; }

  // Returns work for the worker of this number, or nullopt if there is none. The worker counts as at work on the epoch
  // and the batch of the claim until finish().
  std::optional<Claim> claim(unsigned worker) PENSTOCK_REQUIRES(SchedulerMutex::held);
  // Called when the worker has finished the claim, after this many seconds.
  void finish(const Claim& claim, double seconds) PENSTOCK_REQUIRES(SchedulerMutex::held);

 private:
  using RunPtr = RunningEpochs::RunPtr;
  std::optional<Claim> claim_samples() PENSTOCK_REQUIRES(SchedulerMutex::held);
  std::optional<Claim> claim_from(const RunPtr& run) PENSTOCK_REQUIRES(SchedulerMutex::held);
  std::optional<Claim> claim_of(const RunPtr& run, const std::shared_ptr<OpenBatch>& batch)
      PENSTOCK_REQUIRES(SchedulerMutex::held);

  RunningEpochs& epochs_;
  const VariableMemory& variable_memory_;
  Knobs knobs_ PENSTOCK_GUARDED_BY(SchedulerMutex::held);
  // A moving average of the time per sample. The cheaper the samples are, the more of them one claim has.
  double sample_seconds_ PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
};

}  // namespace penstock
