// Walks ahead of the workers: which chunks and byte ranges the coming samples need.
//
// The order is known, so what is needed soon is known too: chunks are kept for it (chunk_shelf.h),
// and, where the store answers many reads at a time, read for it (read_ahead.h). Each epoch under way has
// one of its own; all of them share the decoded chunks. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "order/epoch_order.h"
#include "order/rank_slice.h"
#include "penstock/source.h"
#include "penstock/stats.h"
#include "pipeline/chunk_shelf.h"
#include "pipeline/read_ahead.h"

namespace penstock {

class SampleCache;

// How much memory is for what is shared between samples, and how far is looked ahead.
struct UpcomingPlan {
  std::uint64_t shelf_bytes = 0;  // decoded chunks
  std::uint64_t ahead_bytes = 0;  // encoded bytes read ahead
  std::uint64_t samples_ahead = 0;

  std::uint64_t bytes() const { return shelf_bytes + ahead_bytes; }
};

struct UpcomingRequest {
  std::uint64_t samples = 1;     // that are made at one time, or that windows of the order reach over
  std::uint64_t most_bytes = 0;  // all of which are used
  bool is_cached_on_disk = false;
};

// Nothing where samples share nothing, and store and cache are as well read on the spot.
std::optional<UpcomingPlan> plan_upcoming(const Source& source, const UpcomingRequest& request);

struct ChunkCounters {
  std::atomic<std::uint64_t> decoded{0}, reused{0}, missing{0}, decoded_bytes{0};
};

// What the epochs under way share. Thread-safe.
struct UpcomingMemory {
  UpcomingMemory(std::shared_ptr<Ledger> ledger, const UpcomingPlan& plan)
      : shelf(ledger, plan.shelf_bytes),
        ahead(std::make_shared<Area>(std::move(ledger), plan.ahead_bytes)) {}

  ChunkShelf shelf;
  ChunkCounters counters;
  std::shared_ptr<Area> ahead;  // for what is read ahead

  ChunkStats stats() const;
};

class Upcoming {
 public:
  // `fields`: of the source, those that are asked for. `cache`: what it has is not read ahead; may be
  // nullptr.
  Upcoming(const Source& source, std::vector<std::size_t> fields, std::shared_ptr<UpcomingMemory> memory,
           const UpcomingPlan& plan, const SampleCache* cache);
  ~Upcoming();

  void start(std::shared_ptr<const EpochOrder> order, const RankSlice& slice);
  // Whoever waits for a read gets an error: nobody wants the samples any more.
  void interrupt();
  // No sample of the epoch is wanted or worked on any more.
  void end();
  // So many epochs read ahead, each within its share of the memory for it.
  void divide_among(std::size_t epochs);

  // A worker begins with a sample: looks some samples further ahead.
  void extend();
  // It is done with it. `chunks`: all that it used.
  void finish(std::uint64_t position, std::span<const ChunkId> chunks);

  ChunkShelf& shelf() { return memory_->shelf; }
  // The sample at this position, as the shelf knows it.
  SampleUse use_at(std::uint64_t position) const { return {first_due_ + position - first_position_, walk_}; }
  ReadAhead* ahead() { return ahead_.get(); }  // nullptr: the store is as well read on the spot
  ChunkCounters& counters() { return memory_->counters; }

 private:
  void plan_sample(std::uint64_t position, std::uint64_t sample);
  void ask(std::uint64_t position, const ChunkId& chunk);
  void drop_changed_chunks();

  const Source& source_;
  const std::vector<std::size_t> fields_;
  const UpcomingPlan plan_;
  const SampleCache* const cache_;
  const std::shared_ptr<UpcomingMemory> memory_;
  std::unique_ptr<ReadAhead> ahead_;
  // Set by start(), while no worker uses this.
  std::uint64_t walk_ = 0, first_due_ = 0, first_position_ = 0;

  std::mutex mutex_;  // of the walk
  std::shared_ptr<const EpochOrder> order_;
  RankSlice slice_;
  std::uint64_t batch_ = 0, in_batch_ = 0;
  std::uint64_t planned_ = 0;
  std::atomic<std::uint64_t> finished_{0};
};

// The chunks of a sample's fields, each once.
std::vector<ChunkId> chunks_of(const Source& source, std::span<const std::size_t> fields,
                               std::uint64_t sample);

}  // namespace penstock
