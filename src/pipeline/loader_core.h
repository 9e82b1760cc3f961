// The bookkeeping of a loader: which epoch comes next, which are in progress, what was delivered and how long it took.
// The loader and its epochs share it.
//
// Thread-safe. `mutex_` is never held while this waits for a batch, makes an engine or reads data.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "penstock/loader.h"
#include "pipeline/engine.h"

namespace penstock {

// One epoch that was started. The mutex of its LoaderCore guards everything that is not const.
struct EpochRecord {
  EpochRecord(EpochTask task_, std::shared_ptr<Engine> engine_)
      : task(std::move(task_)),
        engine(std::move(engine_)) {
    stats.epoch = task.epoch;
  }

  const EpochTask task;
  std::shared_ptr<Engine> engine;  // nullptr when the epoch is over
  std::shared_ptr<RunningEpoch> run;
  std::uint64_t number = 0;     // counts the epochs that this loader started
  std::uint64_t delivered = 0;  // batches
  EpochStats stats;             // without the times of workers, which the scheduler has
  StageStats deliver;
  Clock::time_point began = Clock::now();
  bool is_over = false;
  std::optional<Error> ended_by;  // the error that next() returns from now on
};

class LoaderCore {
 public:
  LoaderCore(SourcePtr source, LoaderParts parts);

  Result<std::shared_ptr<EpochRecord>> start_epoch();
  Result<Epoch::Next> next(const std::shared_ptr<EpochRecord>& record, Batch& out,
                           std::chrono::milliseconds patience);
  void close_epoch(EpochRecord& record);

  std::uint64_t batches_per_epoch() const;
  void set_epoch(std::uint64_t epoch);
  Status set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices);
  Status set_ranks(std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks);
  Tuning tune(const Tuning& wanted);
  Status read_content();
  LoaderState state() const;
  Status load_state(const LoaderState& state);
  LoaderStats stats() const;
  std::vector<BatchField> sample_fields() const { return sample_fields_; }
  const Source& source() const { return *source_; }
  void close();

 private:
  // An epoch that has ended. It must be cancelled without the lock.
  struct Ended {
    std::shared_ptr<Engine> engine;
    std::shared_ptr<RunningEpoch> run;
    void cancel() const { engine->scheduler.cancel(*run); }
  };

  struct FinishedEpoch {
    std::uint64_t number = 0;
    EpochStats stats;
    std::shared_ptr<const EpochSpending> spent;
    EpochStats all() const;
  };

  void adopt(const std::shared_ptr<Engine>& engine);
  Result<std::shared_ptr<Engine>> current_engine();
  Status check_carries_one_more(const Engine& engine) const;
  Status check_not_inside_map(const char* what) const;
  void retire_engine();
  Ended end_epoch(EpochRecord& record);
  std::vector<Ended> end_all_epochs(const std::string& why);
  LoaderState own_state() const;
  Status count(EpochRecord& record, const FinishedBatch& batch);
  std::uint64_t epoch_positions() const;
  RankSlice slice_from(std::uint64_t position, std::uint64_t size) const;
  static FinishedEpoch finished(const EpochRecord& record);

  const SourcePtr source_;
  const std::vector<BatchField> sample_fields_;
  const Clock::time_point constructed_ = Clock::now();
  std::mutex starting_;  // one start at a time, taken before mutex_; making an engine takes a while

  mutable std::mutex mutex_;
  LoaderOptions options_;
  OrderSpec order_;
  std::shared_ptr<Engine> engine_;  // nothing: to be made before the next epoch
  bool is_closed_ = false;
  std::uint64_t next_epoch_ = 0, next_position_ = 0;
  std::optional<std::uint64_t> loaded_bucket_run_;
  std::uint64_t content_ = 0;  // 0: not read yet
  // The epoch that state() describes: the one that delivered last.
  std::shared_ptr<EpochRecord> last_;
  bool is_moved_ = false;

  std::uint64_t started_ = 0;
  std::vector<std::shared_ptr<EpochRecord>> running_;
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
