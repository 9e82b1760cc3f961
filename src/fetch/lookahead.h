// Walks through the order ahead of the workers, to find which chunks and byte ranges the next samples need.
//
// Decoded chunks are kept for them (chunks/decoded_chunk_cache.h), and where the store answers many reads at a time
// their bytes are read before a worker asks (read_ahead.h). Each epoch in progress has a Lookahead of its own; all of
// them share the decoded chunks. Thread-safe.
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

// How much memory is for what is shared between samples, and how far is looked ahead.
struct LookaheadPlan {
  std::uint64_t decoded_chunk_bytes = 0;  // decoded chunks
  std::uint64_t loan_bytes = 0;   // and more of them in memory that is for decoding, while that lies idle
  std::uint64_t ahead_bytes = 0;  // encoded bytes read ahead
  std::uint64_t samples_ahead = 0;
  // For samples in the making whose chunks do not go straight to their slots: how much of each must be kept
  // until it is complete (0: nothing), and how many can be.
  std::uint64_t open_sample_bytes = 0, open_samples = 0;

  std::uint64_t bytes() const { return decoded_chunk_bytes + ahead_bytes + open_sample_bytes * open_samples; }
};

struct LookaheadRequest {
  std::uint64_t samples = 1;     // that are made at one time, or that windows of the order reach over
  std::uint64_t max_bytes = 0;  // all of which are used
  std::uint64_t decoded_chunk_bytes = 0;  // of these, at least for decoded chunks
  bool is_cached_on_disk = false;
  std::uint64_t batch_samples = 1;
  std::uint64_t open_sample_bytes = 0;  // see LookaheadPlan
};

// Nothing where samples share nothing, and store and cache are as well read on the spot.
std::optional<LookaheadPlan> plan_lookahead(const Source& source, const LookaheadRequest& request);

struct ChunkCounters {
  std::atomic<std::uint64_t> decoded{0}, reused{0}, missing{0}, decoded_bytes{0};
};

// What the epochs under way share. Thread-safe.
struct LookaheadMemory {
  LookaheadMemory(const Source& source, std::shared_ptr<Ledger> ledger, const LookaheadPlan& plan)
      : decoded_chunks(ledger, plan.decoded_chunk_bytes, plan.loan_bytes),
        distinct(source.storage().arrays),
        open(std::make_shared<Area>(ledger, plan.open_sample_bytes * plan.open_samples)),
        ahead(std::make_shared<Area>(std::move(ledger), plan.ahead_bytes)) {}

  DecodedChunkCache decoded_chunks;
  ChunkCounters counters;
  DistinctChunks distinct;
  std::shared_ptr<Area> open;   // for samples in the making
  std::shared_ptr<Area> ahead;  // for what is read ahead

  ChunkStats stats() const;
  std::uint64_t bytes_for_one_decode() const;
};

class Lookahead {
 public:
  // `fields` are those of the source that are asked for. What `cache` has is not read ahead; it may be nullptr.
  Lookahead(const Source& source, std::vector<std::size_t> fields, std::shared_ptr<LookaheadMemory> memory,
           const LookaheadPlan& plan, const SampleCache* cache);
  ~Lookahead();

  void start(std::shared_ptr<const EpochOrder> order, const RankSlice& slice) PENSTOCK_EXCLUDES(mutex_, open_mutex_);
  // Workers that wait for a read get an error: nobody wants the samples any more.
  void interrupt();
  // Ends the epoch: no worker is at one of its samples any more.
  void end() PENSTOCK_EXCLUDES(mutex_, open_mutex_);
  // Divides the memory for reading ahead among so many epochs.
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
  // nullptr where its batch is not open, or the sample is of another epoch.
  std::unique_ptr<OpenPlace> find_open(const SampleUse& use) PENSTOCK_EXCLUDES(open_mutex_);
  const std::shared_ptr<Area>& open_area() const { return memory_->open; }

  // Called when a worker begins with a sample. Looks some samples further ahead.
  void extend() PENSTOCK_EXCLUDES(mutex_);
  // Called when a worker is done with a sample. `chunks` are all that it needs; none where it failed before they were
  // known.
  void finish(std::uint64_t position, std::span<const ChunkId> chunks) PENSTOCK_EXCLUDES(open_mutex_);

  DecodedChunkCache& decoded_chunks() { return memory_->decoded_chunks; }
  // The sample at this position, as the decoded chunk cache knows it.
  SampleUse use_at(std::uint64_t position) const { return {first_due_ + position - first_position_, walk_}; }
  ReadAhead* ahead() { return ahead_.get(); }  // nullptr: the store is as well read on the spot
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

// The chunks of a sample's fields, each once.
std::vector<ChunkId> chunks_of(const Source& source, std::span<const std::size_t> fields,
                               std::uint64_t sample);

}  // namespace penstock
