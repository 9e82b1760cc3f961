// The bookkeeping of a loader: what it delivered, over all of its epochs and engines, and how long that took.
//
// It belongs to a LoaderCore, whose mutex guards it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/epoch_record.h"

namespace penstock {

class LoaderBooks {
 public:
  // Called when the loader begins to run on this engine.
  void adopt(const Engine& engine);
  // Called when the engine has ended. Keeps what it counted.
  void retire(const Engine& engine);
  void tune(const Scheduler::Knobs& now);

  // The number of samples of an epoch that may be bad.
  struct SkipLimit {
    double samples = 0;
    double max_skip = 0;  // the option, for the message
  };
  // Counts a finished batch. Fails if the policy does not allow its errors.
  Status count(EpochRecord& record, const FinishedBatch& batch, const SkipLimit& limit)
      PENSTOCK_REQUIRES(LoaderCoreMutex::held);
  // Adds the time that the consumer waited for a batch of the epoch.
  void add_wait(EpochRecord& record, double seconds) PENSTOCK_REQUIRES(LoaderCoreMutex::held);
  // Called when a batch that was counted has been handed over, which began at `since`.
  void add_delivered(EpochRecord& record, Clock::time_point since, std::uint64_t bytes)
      PENSTOCK_REQUIRES(LoaderCoreMutex::held);
  // Records the end of an epoch, for whatever reason it ended.
  void end(const EpochRecord& record) PENSTOCK_REQUIRES(LoaderCoreMutex::held);

  // `engine` is the one in use, or nullptr; `running` are the epochs that are not over. Leaves out the bottleneck and
  // what depends on the order.
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
  // Statistics of earlier engines.
  WorkerStats workers_before_;
  ChunkStats chunks_before_;
  std::vector<TierState> tiers_before_;
  // Descriptions of the last engine.
  std::string cache_form_, tuning_;
  std::shared_ptr<Ledger> ledger_;
  std::uint64_t prefetch_ = 0;
  unsigned threads_ = 0;
};

}  // namespace penstock
