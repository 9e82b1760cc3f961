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

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "base/memory/area.h"
#include "base/memory/memory_block.h"
#include "penstock/source.h"
#include "source/source_storage.h"
#include "source/records/forward_reader.h"
#include "store/store.h"

namespace penstock {

// How much of the shards is open at one time.
struct StreamPlan {
  std::uint64_t block_bytes = 0, decoder_bytes = 0;
  std::uint64_t prefetch = 0;  // batches ahead that this is enough for
  std::size_t decoders = 0;

  std::uint64_t bytes() const { return block_bytes + decoder_bytes; }
};

struct StreamRequest {
  std::uint64_t window_units = 0;   // 0: in the source's own order
  std::uint64_t batch_samples = 1;  // over all ranks: what one step of all of them goes forward
  std::uint64_t prefetch = 0;       // wanted; 0: choose
  std::uint64_t max_bytes = 0;
};

// As many batches ahead as fit; fails, saying how much is needed, where not even one does.
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
    std::uint64_t begin_byte;  // of the uncompressed object
    std::uint64_t size;
    ObjectVersion version;  // of the compressed object
    MemoryBlock memory;
  };
  using BlockPtr = std::shared_ptr<const Block>;

  // Memory comes from the area.
  StreamBlocks(const Source& source, std::shared_ptr<Area> area, const StreamPlan& plan);
  StreamBlocks(const StreamBlocks&) = delete;
  ~StreamBlocks();

  Result<BlockPtr> get(std::size_t block);

  // More or less memory for blocks from now on, as another plan for the same order says.
  void limit(const StreamPlan& plan);

  // Breaks off what waits for a distant store; then, begins anew. No worker reads meanwhile.
  void interrupt();
  void start();

 private:
  struct Decoder {
    std::mutex mutex;  // one reads at a time
    std::unique_ptr<Object> object;
    std::unique_ptr<ForwardReader> reader;
    std::size_t next_block = 0;  // the first that it has not passed
    std::uint64_t last_use = 0;
  };
  struct Entry {
    BlockPtr block;
    std::uint64_t last_use = 0;
  };

  BlockPtr find(std::size_t block);
  void forget_if_changed(std::uint32_t stream);
  Result<BlockPtr> read_up_to(Decoder& decoder, std::size_t block);
  Result<BlockPtr> read(Decoder& decoder, std::size_t block);
  Status open(Decoder& decoder, std::uint32_t stream);
  Status take_memory(std::uint64_t bytes);
  bool try_take_memory(std::uint64_t bytes);
  BlockPtr give_up_oldest();
  void give_back(std::uint64_t bytes);
  std::shared_ptr<Decoder> decoder_of(std::uint32_t stream);
  std::size_t first_block_of(std::uint32_t stream) const;

  const Source& source_;
  const std::shared_ptr<Area> area_;
  const StreamPlan plan_;
  std::mutex memory_mutex_;  // of its own: blocks are given back under either of the others
  std::condition_variable memory_came_back_;
  std::uint64_t live_bytes_ = 0, max_bytes_ = 0;
  std::uint64_t decoder_bytes_ = 0;  // reserved, before the first block is read
  std::mutex mutex_;
  std::uint64_t now_ = 0;
  std::stop_source stop_;
  // From which block on a stream cannot be read: trying again would only take long.
  struct Damage {
    std::size_t first_block;
    Error error;
  };
  std::unordered_map<std::uint32_t, Damage> damaged_;
  std::uint64_t epochs_ = 0;  // started
  struct Opened {
    ObjectVersion version;
    std::uint64_t looked_at = 0;  // in which epoch
  };
  std::unordered_map<std::uint32_t, Opened> opened_;  // streams in files
  std::unordered_map<std::size_t, Entry> kept_;
  std::unordered_map<std::uint32_t, std::shared_ptr<Decoder>> decoders_;
};

}  // namespace penstock
