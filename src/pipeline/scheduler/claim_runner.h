// Makes the samples that a worker has claimed, deals with those that fail as the policy says, and pads batches.
//
// Thread-safe: it is shared by all workers, each of which comes with a maker of its own. It never holds the scheduler's
// mutex.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "penstock/loader.h"
#include "plan/sample_plan.h"
#include "pipeline/scheduler/open_batch.h"
#include "pipeline/scheduler/running_epoch.h"
#include "sample/sample_maker.h"

namespace penstock {

struct BatchPolicy {
  OnError on_error = OnError::kRaise;
  std::uint64_t seed = 0;  // to choose stand-ins by
  double pad_value = 0;
};

// Samples of one batch that one worker makes.
struct Claim {
  std::shared_ptr<RunningEpoch> run;
  std::shared_ptr<OpenBatch> batch;
  std::uint64_t first = 0, count = 0;              // count 0: to complete the batch
  std::optional<Replacement> replacement{};        // the sample at `first` failed: makes a stand-in
  std::vector<std::uint64_t> put_off{};            // samples for which there was no memory yet
  std::uint64_t deferred = 0;                      // samples that are finished later
  bool is_completed = false;                       // the batch is; it is left for later where there is no memory yet
};

class ClaimRunner {
 public:
  // Makes a deferred sample of the claim; empty where there is no memory for one more in flight.
  using Defer = std::function<DeferredSample(const Claim& claim, std::uint64_t index,
                                             const std::optional<Replacement>& replacement, std::size_t bytes)>;

  ClaimRunner(const SamplePlan& plan, const SlotLayout& layout, VariableMemory& variable, const BatchPolicy& policy,
              Defer defer)
      : plan_(plan),
        layout_(layout),
        variable_(variable),
        policy_(policy),
        defer_(std::move(defer)) {}

  void run(Claim& claim, SampleMaker& maker) const;

  // Whether another sample is to take the place of one that failed with this error.
  bool is_replaced(const Error& error, int attempts) const;
  // The sample is lost: it is left out, or the batch fails.
  void note_failure(OpenBatch& batch, std::uint64_t index, Error error) const;
  // Another sample took the place of the one that failed.
  static void note_replaced(OpenBatch& batch, Error error);

 private:
  using Outcome = SampleMaker::Outcome;

  Result<Outcome> make_one(const Claim& claim, std::uint64_t index, SampleMaker& maker) const;
  Result<Outcome> make_stand_in(const Claim& claim, Replacement replacement, SampleMaker& maker) const;
  Result<Outcome> make(const Claim& claim, std::uint64_t index, std::uint64_t sample,
                       const std::optional<Replacement>& replacement, SampleMaker& maker) const;

  // All samples are there: pads them. False where there is no room for that yet.
  bool complete(OpenBatch& batch) const;

  const SamplePlan& plan_;
  const SlotLayout& layout_;
  VariableMemory& variable_;
  const BatchPolicy policy_;
  const Defer defer_;
};

}  // namespace penstock
