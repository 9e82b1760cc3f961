// Blocks of compressed shards, decompressed once and shared by the workers.
//
// One decoder reads a shard forward. A block stays in memory until newer ones need the space: the order of a
// forward-only source visits blocks in windows, so the least recently used block is not needed again if all blocks that
// are in use at one time fit (plan_streams). Going back, for a stand-in for a bad sample, begins the shard again: that
// is slow, but never wrong.
//
// A block that a worker holds is not evicted. A worker that finds all memory held waits. A worker holds one block at a
// time and asks for none while it does, so at least one worker can always go on.
// Each epoch in progress has its own StreamBlocks, because it is at another position of the shards. Thread-safe; it
// outlives its blocks.
#pragma once

#include <memory>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "base/guarded.h"
#include "base/memory/area.h"
#include "base/memory/memory_block.h"
#include "penstock/source.h"
#include "source/source_storage.h"
#include "source/records/forward_reader.h"
#include "store/store.h"

namespace penstock {

// The number of shards that are open at one time, and the memory that they take.
struct StreamPlan {
  std::uint64_t block_bytes = 0, decoder_bytes = 0;
  std::uint64_t prefetch = 0;  // batches ahead for which this suffices
  std::size_t decoders = 0;

  std::uint64_t bytes() const { return block_bytes + decoder_bytes; }
};

struct StreamRequest {
  std::uint64_t window_units = 0;   // 0: samples come in the source's own order
  std::uint64_t batch_samples = 1;  // samples per training step, over all ranks
  std::uint64_t prefetch = 0;       // batches that the user wants ahead; 0: choose
  std::uint64_t max_bytes = 0;
};

// Plans as many batches ahead as fit. If not even one fits, fails and says how much memory is needed.
Result<StreamPlan> plan_streams(const Source& source, const StreamRequest& request);

class StreamBlocks {
 public:
  struct Block {
    Block(StreamBlocks& owner_, std::size_t number_, std::uint64_t begin, std::uint64_t size_,
          const ObjectVersion& version_)
        : owner(owner_),
          number(number_),
          begin_byte(begin),
          size(size_),
          version(version_),
          memory(MemoryBlock::allocate(size_, heap_allocator())) {}
    Block(const Block&) = delete;
    ~Block() {
      memory = MemoryBlock();
      owner.give_back(size);
    }
    MutableBytes bytes() const { return {memory.data(), size}; }

    StreamBlocks& owner;
    std::size_t number;
    std::uint64_t begin_byte;  // offset in the uncompressed object
    std::uint64_t size;
    ObjectVersion version;  // version of the compressed object
    MemoryBlock memory;
  };
  using BlockPtr = std::shared_ptr<const Block>;

  // Blocks and decoders use memory of the area.
  StreamBlocks(const Source& source, std::shared_ptr<Area> area, const StreamPlan& plan);
  StreamBlocks(const StreamBlocks&) = delete;
  ~StreamBlocks();

  Result<BlockPtr> get(std::size_t block) PENSTOCK_EXCLUDES(mutex_, memory_mutex_);

  // Sets the memory for blocks to that of another plan for the same order.
  void limit(const StreamPlan& plan) PENSTOCK_EXCLUDES(mutex_, memory_mutex_);

  // interrupt() cancels reads that wait for a distant store. start() begins an epoch; no worker may read meanwhile.
  void interrupt() PENSTOCK_EXCLUDES(mutex_);
  void start() PENSTOCK_EXCLUDES(mutex_);

 private:
  struct Decoder {
    Mutex mutex;  // one reads at a time
    std::unique_ptr<Object> object PENSTOCK_GUARDED_BY(mutex);
    std::unique_ptr<ForwardReader> reader PENSTOCK_GUARDED_BY(mutex);
    std::size_t next_block PENSTOCK_GUARDED_BY(mutex) = 0;  // the first block that it has not decompressed
  };
  struct OpenDecoder {
    std::shared_ptr<Decoder> decoder;
    std::uint64_t last_use = 0;
  };
  struct Entry {
    BlockPtr block;
    std::uint64_t last_use = 0;
  };

  BlockPtr find(std::size_t block) PENSTOCK_EXCLUDES(mutex_);
  void forget_if_changed(std::uint32_t stream) PENSTOCK_EXCLUDES(mutex_, memory_mutex_);
  Result<BlockPtr> read_up_to(Decoder& decoder, std::size_t block)
      PENSTOCK_REQUIRES(decoder.mutex) PENSTOCK_EXCLUDES(mutex_, memory_mutex_);
  Result<BlockPtr> read(Decoder& decoder, std::size_t block)
      PENSTOCK_REQUIRES(decoder.mutex) PENSTOCK_EXCLUDES(mutex_, memory_mutex_);
  Status open(Decoder& decoder, std::uint32_t stream) PENSTOCK_REQUIRES(decoder.mutex) PENSTOCK_EXCLUDES(mutex_);
  Status take_memory(std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_, memory_mutex_);
  bool try_take_memory(std::uint64_t bytes) PENSTOCK_EXCLUDES(memory_mutex_);
  bool holds_too_much() PENSTOCK_EXCLUDES(memory_mutex_);
  BlockPtr give_up_oldest() PENSTOCK_EXCLUDES(mutex_);
  void give_back(std::uint64_t bytes) PENSTOCK_EXCLUDES(memory_mutex_);
  std::shared_ptr<Decoder> decoder_of(std::uint32_t stream) PENSTOCK_EXCLUDES(mutex_);
  std::size_t first_block_of(std::uint32_t stream) const;

  const Source& source_;
  const std::shared_ptr<Area> area_;
  const StreamPlan plan_;
  Mutex memory_mutex_;  // of its own: blocks are given back under either of the others
  ConditionVariable memory_came_back_;
  std::uint64_t live_bytes_ PENSTOCK_GUARDED_BY(memory_mutex_) = 0;
  std::uint64_t max_bytes_ PENSTOCK_GUARDED_BY(memory_mutex_) = 0;
  // Reserved for decoders, when the first block is read.
  std::uint64_t decoder_bytes_ PENSTOCK_GUARDED_BY(memory_mutex_) = 0;
  Mutex mutex_;
  std::uint64_t now_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::stop_source stop_ PENSTOCK_GUARDED_BY(mutex_);
  // The first block of a stream that cannot be read. Remembered because trying again would take long.
  struct Damage {
    std::size_t first_block;
    Error error;
  };
  std::unordered_map<std::uint32_t, Damage> damaged_ PENSTOCK_GUARDED_BY(mutex_);
  std::uint64_t epochs_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // started
  struct Opened {
    ObjectVersion version;
    std::uint64_t looked_at = 0;  // the epoch in which the version was last checked
  };
  std::unordered_map<std::uint32_t, Opened> opened_ PENSTOCK_GUARDED_BY(mutex_);  // streams in files
  std::unordered_map<std::size_t, Entry> kept_ PENSTOCK_GUARDED_BY(mutex_);
  std::unordered_map<std::uint32_t, OpenDecoder> decoders_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock
