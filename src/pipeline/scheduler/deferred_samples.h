// Samples that are finished elsewhere and later than their claim: by a device queue, or by another process
// (sample/deferred_sample.h).
//
// The batch and the epoch stay as long as a sample of theirs is not completed, as they do for a worker that makes one.
// Thread-safe: samples may be completed on any thread. It must outlive them; wait_until_none() sees to that.
#pragma once

#include <memory>
#include <optional>

#include "base/memory/area.h"
#include "pipeline/scheduler/claim_runner.h"
#include "pipeline/scheduler/running_epochs.h"

namespace penstock {

class DeferredSamples {
 public:
  // Memory for samples in flight comes from the area.
  DeferredSamples(RunningEpochs& epochs, const ClaimRunner& runner, std::shared_ptr<Area> area)
      : epochs_(epochs),
        runner_(runner),
        area_(std::move(area)) {}

  // Empty where there is no memory for one more in flight.
  DeferredSample defer(const Claim& claim, std::uint64_t index, const std::optional<Replacement>& replacement,
                       std::size_t bytes) PENSTOCK_EXCLUDES(SchedulerMutex::held);
  // No worker is left that could defer another.
  void wait_until_none() PENSTOCK_EXCLUDES(SchedulerMutex::held);

 private:
  using RunPtr = RunningEpochs::RunPtr;
  void complete(const RunPtr& run, OpenBatch& batch, Replacement sample, bool is_stand_in, Status status)
      PENSTOCK_EXCLUDES(SchedulerMutex::held);

  RunningEpochs& epochs_;
  const ClaimRunner& runner_;
  const std::shared_ptr<Area> area_;
  ConditionVariable all_done_;
  std::uint64_t under_way_ PENSTOCK_GUARDED_BY(SchedulerMutex::held) = 0;
};

}  // namespace penstock
