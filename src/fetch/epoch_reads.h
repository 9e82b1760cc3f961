// The readers of the epochs in progress. Each epoch has its own position in compressed shards and its own reads ahead;
// ReadDivision divides the memory for them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fetch/shared_reads.h"
#include "fetch/stream_blocks.h"
#include "fetch/lookahead.h"

namespace penstock {

// The readers of one epoch. Workers may call everything except start() and end() at the same time.
struct EpochReads {
  std::unique_ptr<StreamBlocks> streams;  // set if the source is forward-only
  std::unique_ptr<Lookahead> lookahead;   // set if samples share chunks, or are read ahead
  const SampleCache* cache = nullptr;
  std::uint64_t prefetch = UINT64_MAX;  // batches ahead for which the memory for reading suffices

  std::uint64_t epoch = 0;  // number of the epoch, unique in this process

  SharedReads shared() const { return {streams.get(), lookahead.get(), cache, epoch}; }
  void start(std::shared_ptr<const EpochOrder> order, const RankSlice& slice);
  // Called when a batch begins to be made. close_batch() is called when it is delivered or given up.
  void open_batch(const PositionRange& range, BatchContents& contents);
  void close_batch(const PositionRange& range);
  // Cancels the reads that workers wait for.
  void interrupt();
  // Ends the epoch. No worker may be at one of its samples.
  void end();
};

// Divides the memory for reading among the epochs of a loader, and gives each epoch its readers. Not thread-safe: the
// scheduler calls it.
class ReadDivision {
 public:
  struct Setup {
    const Source& source;
    std::vector<std::size_t> fields;  // fields of the source that the loader reads
    std::shared_ptr<Ledger> ledger;
    const SampleCache* cache = nullptr;
    std::optional<StreamRequest> streams;          // set if the source is forward-only
    std::shared_ptr<Area> stream_area;             // for the streams of all epochs
    std::unique_ptr<StreamBlocks> opened_streams;  // for the first epoch
    std::optional<LookaheadPlan> lookahead;
  };
  explicit ReadDivision(Setup setup);

  // Returns the readers of one more epoch, and makes the shares of `others` smaller. If the memory does not suffice for
  // so many epochs, fails and changes nothing.
  Result<std::unique_ptr<EpochReads>> take(const std::vector<EpochReads*>& others);
  // Called when an epoch has ended: divides its share among `others`. The caller must destroy the returned readers
  // while it holds no lock, because that may wait for a store.
  std::unique_ptr<EpochReads> put_back(std::unique_ptr<EpochReads> reads,
                                       const std::vector<EpochReads*>& others);

  ChunkStats chunk_stats() const { return memory_ ? memory_->stats() : ChunkStats{}; }
  // Bytes of memory for decoded chunks that would have sufficed to decode each of them once.
  std::uint64_t chunk_bytes_for_one_decode() const { return memory_ ? memory_->bytes_for_one_decode() : 0; }

 private:
  Result<StreamPlan> stream_plan(std::size_t epochs) const;
  void divide(const std::vector<EpochReads*>& reads, const StreamPlan& plan) const;

  Setup setup_;
  std::shared_ptr<LookaheadMemory> memory_;
  std::unique_ptr<EpochReads> spare_;  // readers of the last epoch: the next may use what they decompressed
};

}  // namespace penstock
