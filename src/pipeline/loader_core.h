// The position of a loader: which epoch comes next, which are in progress, and on which engine they run.
// The loader and its epochs share it.
//
// Thread-safe. `mutex_` is never held while this waits for a batch, makes an engine or reads data.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/guarded.h"
#include "penstock/loader.h"
#include "pipeline/engine.h"
#include "pipeline/epoch_record.h"
#include "pipeline/loader_books.h"

namespace penstock {

class LoaderCore {
 public:
  LoaderCore(SourcePtr source, LoaderParts parts);

  Result<std::shared_ptr<EpochRecord>> start_epoch() PENSTOCK_EXCLUDES(starting_, mutex_);
  Result<Epoch::Next> next(const std::shared_ptr<EpochRecord>& record, Batch& out,
                           std::chrono::milliseconds patience)
      PENSTOCK_EXCLUDES(mutex_);
  void close_epoch(EpochRecord& record) PENSTOCK_EXCLUDES(mutex_);

  std::uint64_t batches_per_epoch() const PENSTOCK_EXCLUDES(mutex_);
  void set_epoch(std::uint64_t epoch) PENSTOCK_EXCLUDES(mutex_);
  Status set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices) PENSTOCK_EXCLUDES(mutex_);
  Status set_ranks(std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks)
      PENSTOCK_EXCLUDES(starting_, mutex_);
  Tuning tune(const Tuning& wanted) PENSTOCK_EXCLUDES(mutex_);
  Status read_content() PENSTOCK_EXCLUDES(mutex_);
  LoaderState state() const PENSTOCK_EXCLUDES(mutex_);
  Status load_state(const LoaderState& state) PENSTOCK_EXCLUDES(starting_, mutex_);
  LoaderStats stats() const PENSTOCK_EXCLUDES(mutex_);
  std::vector<BatchField> sample_fields() const { return sample_fields_; }
  const Source& source() const { return *source_; }
  void close() PENSTOCK_EXCLUDES(starting_, mutex_);

 private:
  // An epoch that has ended. It must be cancelled without the lock.
  struct Ended {
    std::shared_ptr<Engine> engine;
    std::shared_ptr<RunningEpoch> run;
    void cancel() const { engine->scheduler.cancel(*run); }
  };

  void adopt(const std::shared_ptr<Engine>& engine) PENSTOCK_REQUIRES(mutex_);
  Result<std::shared_ptr<Engine>> current_engine() PENSTOCK_REQUIRES(starting_) PENSTOCK_EXCLUDES(mutex_);
  Status check_carries_one_more(const Engine& engine) const;
  Status check_not_inside_map(const char* what) const PENSTOCK_EXCLUDES(mutex_);
  void retire_engine() PENSTOCK_REQUIRES(starting_) PENSTOCK_EXCLUDES(mutex_);
  Ended end_epoch(EpochRecord& record) PENSTOCK_REQUIRES(mutex_, LoaderCoreMutex::held);
  std::vector<Ended> end_all_epochs(const std::string& why) PENSTOCK_REQUIRES(mutex_, LoaderCoreMutex::held);
  LoaderState own_state() const PENSTOCK_REQUIRES(mutex_);
  std::uint64_t epoch_positions() const PENSTOCK_REQUIRES(mutex_);
  RankSlice slice_from(std::uint64_t position, std::uint64_t size) const PENSTOCK_REQUIRES(mutex_);

  const SourcePtr source_;
  const std::vector<BatchField> sample_fields_;
  // One start at a time; making an engine takes a while.
  Mutex starting_ PENSTOCK_ACQUIRED_BEFORE(mutex_);

  mutable LoaderCoreMutex mutex_;
  LoaderOptions options_ PENSTOCK_GUARDED_BY(mutex_);
  OrderSpec order_ PENSTOCK_GUARDED_BY(mutex_);
  std::shared_ptr<Engine> engine_ PENSTOCK_GUARDED_BY(mutex_);  // nullptr: made before the next epoch
  bool is_closed_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::uint64_t next_epoch_ PENSTOCK_GUARDED_BY(mutex_) = 0, next_position_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::optional<std::uint64_t> loaded_bucket_run_ PENSTOCK_GUARDED_BY(mutex_);
  std::uint64_t content_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // 0: not read yet
  // The epoch that state() describes: the one that delivered last.
  std::shared_ptr<EpochRecord> last_ PENSTOCK_GUARDED_BY(mutex_);
  bool is_moved_ PENSTOCK_GUARDED_BY(mutex_) = false;

  std::uint64_t started_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::vector<std::shared_ptr<EpochRecord>> running_ PENSTOCK_GUARDED_BY(mutex_);
  LoaderBooks books_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock
