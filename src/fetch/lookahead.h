// Walks through the order ahead of the workers, to find which chunks and byte ranges the next samples need.
//
// The cache of decoded chunks (chunks/decoded_chunk_cache.h) evicts by what it finds, and stores that answer many
// reads at a time are read before a worker asks (read_ahead.h). Each epoch in progress has a Lookahead of its own; all
// of them share the decoded chunks. Thread-safe, except that start() and end() must not run while a worker is at a
// sample of the epoch.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "base/guarded.h"
#include "order/epoch_order.h"
#include "order/rank_slice.h"
#include "penstock/source.h"
#include "source/source_storage.h"
#include "penstock/stats.h"
#include "fetch/chunks/decoded_chunk_cache.h"
#include "fetch/chunks/distinct_chunks.h"
#include "fetch/read_ahead.h"

namespace penstock {

class SampleCache;
struct BatchContents;

// The memory for decoded chunks and reads ahead, and the number of samples that are planned ahead.
struct LookaheadPlan {
  std::uint64_t decoded_chunk_bytes = 0;
  std::uint64_t loan_bytes = 0;   // more memory for decoded chunks, lent while no worker needs it for decoding
  std::uint64_t ahead_bytes = 0;  // encoded bytes read ahead
  std::uint64_t samples_ahead = 0;
  // Samples in the making whose chunks are not copied straight to their slots: bytes that each needs until it is
  // complete (0: none), and how many samples there is memory for.
  std::uint64_t open_sample_bytes = 0, open_samples = 0;

  std::uint64_t bytes() const { return decoded_chunk_bytes + ahead_bytes + open_sample_bytes * open_samples; }
};

struct LookaheadRequest {
  std::uint64_t samples = 1;              // made at one time, or covered by a window of the order
  std::uint64_t max_bytes = 0;            // the plan uses all of them
  std::uint64_t decoded_chunk_bytes = 0;  // decoded chunks get at least this part of max_bytes
  bool is_cached_on_disk = false;
  std::uint64_t batch_samples = 1;
  std::uint64_t open_sample_bytes = 0;  // see LookaheadPlan
};

// Returns nullopt if looking ahead has no use: samples share no chunks, and neither the store nor the cache is slow.
std::optional<LookaheadPlan> plan_lookahead(const Source& source, const LookaheadRequest& request);

struct ChunkCounters {
  std::atomic<std::uint64_t> decoded{0}, reused{0}, missing{0}, decoded_bytes{0};
};

// The memory that all epochs in progress share. Thread-safe.
struct LookaheadMemory {
  LookaheadMemory(const Source& source, std::shared_ptr<Ledger> ledger, const LookaheadPlan& plan)
      : decoded_chunks(ledger, plan.decoded_chunk_bytes, plan.loan_bytes),
        distinct(source.storage().arrays),
        open(std::make_shared<Area>(ledger, plan.open_sample_bytes * plan.open_samples)),
        ahead(std::make_shared<Area>(std::move(ledger), plan.ahead_bytes)) {}

  DecodedChunkCache decoded_chunks;
  ChunkCounters counters;
  DistinctChunks distinct;
  std::shared_ptr<Area> open;   // samples in the making
  std::shared_ptr<Area> ahead;  // bytes read ahead

  ChunkStats stats() const;
  std::uint64_t bytes_for_one_decode() const;
};

class Lookahead {
 public:
  // `fields` are the fields of the source that the loader reads. Values that `cache` holds are not read ahead; `cache`
  // may be nullptr.
  Lookahead(const Source& source, std::vector<std::size_t> fields, std::shared_ptr<LookaheadMemory> memory,
           const LookaheadPlan& plan, const SampleCache* cache);
  ~Lookahead();

  void start(std::shared_ptr<const EpochOrder> order, const RankSlice& slice) PENSTOCK_EXCLUDES(mutex_, open_mutex_);
  // Cancels the epoch: workers that wait for a read get an error.
  void interrupt();
  // Ends the epoch. No worker may be at one of its samples.
  void end() PENSTOCK_EXCLUDES(mutex_, open_mutex_);
  // Limits this epoch to its share of the memory for reading ahead, which is divided among `epochs`.
  void divide_among(std::size_t epochs);

  // The batch of these positions is in the making: chunks may be copied to its samples.
  void open_batch(const PositionRange& range, BatchContents& contents) PENSTOCK_EXCLUDES(open_mutex_);
  // The batch is delivered, or given up. Waits until no chunk is being copied to it.
  void close_batch(const PositionRange& range) PENSTOCK_EXCLUDES(open_mutex_);

  // A sample of an open batch. The batch stays open as long as this exists.
  class OpenPlace {
   public:
    OpenPlace(Lookahead& owner, std::uint64_t position, std::uint64_t index, BatchContents& contents)
        : position_(position),
          index_(index),
          contents_(contents),
          owner_(owner) {}
    OpenPlace(const OpenPlace&) = delete;
    ~OpenPlace() { owner_.unpin(position_); }

    std::uint64_t position() const { return position_; }
    std::uint64_t sample() const { return owner_.order_->sample_at(position_); }
    std::uint64_t index() const { return index_; }  // in the batch
    BatchContents& contents() const { return contents_; }

   private:
    const std::uint64_t position_, index_;
    BatchContents& contents_;
    Lookahead& owner_;
  };
  // Returns nullptr if the sample's batch is not open, or if the sample belongs to another epoch.
  std::unique_ptr<OpenPlace> find_open(const SampleUse& use) PENSTOCK_EXCLUDES(open_mutex_);
  const std::shared_ptr<Area>& open_area() const { return memory_->open; }

  // Called when a worker begins with a sample. Looks some samples further ahead.
  void extend() PENSTOCK_EXCLUDES(mutex_);
  // Called when a worker is done with a sample. `chunks` are all chunks that it needs; empty if it failed before they
  // were known.
  void finish(std::uint64_t position, std::span<const ChunkId> chunks) PENSTOCK_EXCLUDES(open_mutex_);

  DecodedChunkCache& decoded_chunks() { return memory_->decoded_chunks; }
  // Returns the sample at this position, as the decoded chunk cache identifies it.
  SampleUse use_at(std::uint64_t position) const { return {first_due_ + position - first_position_, walk_}; }
  ReadAhead* ahead() { return ahead_.get(); }  // nullptr: nothing is read ahead
  ChunkCounters& counters() { return memory_->counters; }
  DistinctChunks& distinct() { return memory_->distinct; }

 private:
  struct OpenBatch {
    PositionRange range;
    BatchContents* contents = nullptr;
    std::uint64_t finished = 0;  // samples
    unsigned pins = 0;
  };

  void plan_sample(std::uint64_t position, std::uint64_t sample) PENSTOCK_REQUIRES(mutex_);
  void unpin(std::uint64_t position) PENSTOCK_EXCLUDES(open_mutex_);
  std::deque<OpenBatch>::iterator batch_at(std::uint64_t position) PENSTOCK_REQUIRES(open_mutex_);
  void tell_open() PENSTOCK_REQUIRES(open_mutex_);
  void ask(std::uint64_t position, const ChunkId& chunk) PENSTOCK_REQUIRES(mutex_);
  void drop_changed_chunks();

  const Source& source_;
  const std::vector<std::size_t> fields_;
  const LookaheadPlan plan_;
  const SampleCache* const cache_;
  const std::shared_ptr<LookaheadMemory> memory_;
  std::unique_ptr<ReadAhead> ahead_;
  // Set by start() and end(), while no worker uses this, and constant in between.
  std::uint64_t walk_ = 0, first_due_ = 0, first_position_ = 0;
  std::shared_ptr<const EpochOrder> order_;
  RankSlice slice_;

  Mutex mutex_;  // of the walk: one thread at a time looks further ahead
  std::uint64_t batch_ PENSTOCK_GUARDED_BY(mutex_) = 0, in_batch_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t planned_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint64_t> planned_end_{0}, open_end_{0};  // positions

  Mutex open_mutex_;
  ConditionVariable unpinned_;
  std::deque<OpenBatch> open_ PENSTOCK_GUARDED_BY(open_mutex_);  // in order of delivery
};

// Returns the chunks of a sample's fields, each once.
std::vector<ChunkId> chunks_of(const Source& source, std::span<const std::size_t> fields,
                               std::uint64_t sample);

}  // namespace penstock
