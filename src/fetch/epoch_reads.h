// What the epochs in progress read through. Each has its own position in compressed shards and its own reads ahead,
// within one division of the memory for them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fetch/shared_reads.h"
#include "fetch/stream_blocks.h"
#include "fetch/lookahead.h"

namespace penstock {

// What one epoch reads through. Thread-safe after start(), but for end().
struct EpochReads {
  std::unique_ptr<StreamBlocks> streams;  // where the source is forward-only
  std::unique_ptr<Lookahead> lookahead;     // where samples share chunks, or are read ahead
  const SampleCache* cache = nullptr;
  std::uint64_t prefetch = UINT64_MAX;  // batches ahead that the memory for reading is enough for

  std::uint64_t epoch = 0;              // of this process; each that is started has its own

  SharedReads shared() const { return {streams.get(), lookahead.get(), cache, epoch}; }
  void start(std::shared_ptr<const EpochOrder> order, const RankSlice& slice);
  // A batch begins to be made; close_batch() when it is delivered or given up.
  void open_batch(const PositionRange& range, BatchContents& contents);
  void close_batch(const PositionRange& range);
  // Breaks off the reads that workers wait for.
  void interrupt();
  // Ends the epoch: no worker is at one of its samples any more.
  void end();
};

// Not thread-safe.
class ReadDivision {
 public:
  struct Setup {
    const Source& source;
    std::vector<std::size_t> fields;  // of the source, those that are read
    std::shared_ptr<Ledger> ledger;
    const SampleCache* cache = nullptr;
    std::optional<StreamRequest> streams;  // where the source is forward-only
    std::shared_ptr<Area> stream_area;     // for the streams of all epochs
    std::unique_ptr<StreamBlocks> opened_streams;  // for the first epoch
    std::optional<LookaheadPlan> lookahead;
  };
  explicit ReadDivision(Setup setup);

  // For one epoch more beside those given, whose shares are made smaller. Fails, and changes nothing, where
  // the memory cannot carry so many.
  Result<std::unique_ptr<EpochReads>> take(const std::vector<EpochReads*>& others);
  // An epoch came to its end; the others get its share. What is returned is to be destroyed without any
  // lock: that may wait for a store.
  std::unique_ptr<EpochReads> put_back(std::unique_ptr<EpochReads> reads,
                                       const std::vector<EpochReads*>& others);

  ChunkStats chunk_stats() const { return memory_ ? memory_->stats() : ChunkStats{}; }
  // How much memory for decoded chunks would have been enough to decode each of them once.
  std::uint64_t chunk_bytes_for_one_decode() const { return memory_ ? memory_->bytes_for_one_decode() : 0; }

 private:
  Result<StreamPlan> stream_plan(std::size_t epochs) const;
  void divide(const std::vector<EpochReads*>& reads, const StreamPlan& plan) const;

  Setup setup_;
  std::shared_ptr<LookaheadMemory> memory_;
  std::unique_ptr<EpochReads> spare_;  // of the last epoch: what it decompressed may serve the next
};

}  // namespace penstock
