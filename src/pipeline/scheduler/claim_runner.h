// Makes the samples that a worker has claimed, applies the policy for samples that fail, and pads batches.
//
// Thread-safe: all workers share it, and each passes a maker of its own. It never holds the scheduler's mutex.
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
  std::uint64_t seed = 0;  // of the draws that choose stand-ins
  double pad_value = 0;
};

// Consecutive samples of one batch that one worker makes.
struct Claim {
  std::shared_ptr<RunningEpoch> run;
  std::shared_ptr<OpenBatch> batch;
  std::uint64_t first = 0, count = 0;              // count 0: the worker completes the batch
  std::optional<Replacement> replacement{};        // set if the sample at `first` failed and needs a stand-in
  std::vector<std::uint64_t> put_off{};            // samples for which there was no memory yet
  std::uint64_t deferred = 0;                      // samples that are finished later
  bool is_completed = false;                       // false if there was no memory yet to complete the batch
};

class ClaimRunner {
 public:
  // Makes a deferred sample of the claim. It is empty if there is no memory for one more in flight.
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

  // Whether a sample that failed with this error, after `attempts` stand-ins, gets another stand-in.
  bool is_replaced(const Error& error, int attempts) const;
  // Records that a sample could not be made: the policy leaves it out or fails the batch.
  void note_failure(OpenBatch& batch, std::uint64_t index, Error error) const;
  // Records that a stand-in replaced the sample that failed.
  static void note_replaced(OpenBatch& batch, Error error);

 private:
  using Outcome = SampleMaker::Outcome;

  Result<Outcome> make_one(const Claim& claim, std::uint64_t index, SampleMaker& maker) const;
  Result<Outcome> make_stand_in(const Claim& claim, Replacement replacement, SampleMaker& maker) const;
  Result<Outcome> make(const Claim& claim, std::uint64_t index, std::uint64_t sample,
                       const std::optional<Replacement>& replacement, SampleMaker& maker) const;

  // Pads the samples of a batch, all of which are made. Returns false if there is no memory for that yet.
  bool complete(OpenBatch& batch) const;

  const SamplePlan& plan_;
  const SlotLayout& layout_;
  VariableMemory& variable_;
  const BatchPolicy policy_;
  const Defer defer_;
};

}  // namespace penstock
