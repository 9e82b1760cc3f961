// Samples that are finished elsewhere and later than their claim: by a device queue, or by another process
// (sample/deferred_sample.h).
//
// A batch and its epoch exist as long as one of their samples is not completed, as if a worker were making it.
// Thread-safe: samples may be completed on any thread. This object must outlive them; wait_until_none() ensures that.
#pragma once

#include <memory>
#include <optional>

#include "base/memory/area.h"
#include "pipeline/scheduler/claim_runner.h"
#include "pipeline/scheduler/running_epochs.h"

namespace penstock {

class DeferredSamples {
 public:
  // Samples in flight use memory of the area.
  DeferredSamples(RunningEpochs& epochs, const ClaimRunner& runner, std::shared_ptr<Area> area)
      : epochs_(epochs),
        runner_(runner),
        area_(std::move(area)) {}

  // Returns an empty DeferredSample if there is no memory for one more in flight.
  DeferredSample defer(const Claim& claim, std::uint64_t index, const std::optional<Replacement>& replacement,
                       std::size_t bytes) PENSTOCK_EXCLUDES(SchedulerMutex::held);
  // Waits until all deferred samples are completed. No worker that could defer another may be left.
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
