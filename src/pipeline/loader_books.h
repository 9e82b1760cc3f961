// The books of a loader: what it delivered, over all of its epochs and engines, and what that took.
//
// Belongs to a LoaderCore, whose mutex guards it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/epoch_record.h"

namespace penstock {

class LoaderBooks {
 public:
  // The loader runs on this engine from now on.
  void adopt(const Engine& engine);
  // The engine has ended; what it counted is kept.
  void retire(const Engine& engine);
  void tune(const Scheduler::Knobs& now);

  // How many samples of an epoch may be bad.
  struct SkipLimit {
    double samples = 0;
    double max_skip = 0;  // the option, for the message
  };
  // Books a finished batch; an error where the policy says so.
  Status count(EpochRecord& record, const FinishedBatch& batch, const SkipLimit& limit)
      PENSTOCK_REQUIRES(LoaderCoreMutex::held);
  // Somebody has waited for a batch of the epoch.
  void add_wait(EpochRecord& record, double seconds) PENSTOCK_REQUIRES(LoaderCoreMutex::held);
  // A batch that was counted was handed over, which began at `since`.
  void add_delivered(EpochRecord& record, Clock::time_point since, std::uint64_t bytes)
      PENSTOCK_REQUIRES(LoaderCoreMutex::held);
  // The epoch is over, however that came.
  void end(const EpochRecord& record) PENSTOCK_REQUIRES(LoaderCoreMutex::held);

  // `engine` is the one in use, or nullptr; `running` are the epochs that are not over. Leaves out what depends on the
  // order, and the bottleneck.
  LoaderStats stats(const Engine* engine, const std::vector<std::shared_ptr<EpochRecord>>& running) const
      PENSTOCK_REQUIRES(LoaderCoreMutex::held);

 private:
  struct FinishedEpoch {
    std::uint64_t number = 0;
    EpochStats stats;
    std::shared_ptr<const EpochSpending> spent;
    EpochStats all() const;
  };
  static FinishedEpoch finished(const EpochRecord& record) PENSTOCK_REQUIRES(LoaderCoreMutex::held);

  const Clock::time_point constructed_ = Clock::now();
  std::vector<FinishedEpoch> finished_;
  Counts totals_;
  StageStats deliver_;
  double first_batch_seconds_ = 0;
  std::vector<Error> errors_;
  // Of engines that are gone.
  WorkerStats workers_before_;
  ChunkStats chunks_before_;
  std::vector<TierState> tiers_before_;
  // Of the last engine.
  std::string cache_form_, tuning_;
  std::shared_ptr<Ledger> ledger_;
  std::uint64_t prefetch_ = 0;
  unsigned threads_ = 0;
};

}  // namespace penstock
