// Blocks of compressed shards, decompressed once and shared by the workers.
//
// A shard is read forward by one decoder. A block is kept until newer ones need its memory: the order
// of a forward-only source visits blocks in windows, so what was used longest ago is not needed
// again, if all blocks that are worked on at one time fit (plan_streams). Going back (a stand-in for a
// bad sample) begins the shard anew: slow, never wrong. A block is in the ledger until the last
// worker has let go of it. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ledger.h"
#include "penstock/source.h"
#include "source/forward_reader.h"
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
  unsigned threads = 1;
  std::uint64_t most_bytes = 0;
};

// As many batches ahead as fit; fails, saying how much is needed, where not even one does.
Result<StreamPlan> plan_streams(const Source& source, const StreamRequest& request);

class StreamBlocks {
 public:
  struct Block {
    Block(Ledger& ledger_, std::uint64_t begin, std::uint64_t size) : ledger(ledger_), begin_byte(begin) {
      bytes.reserve(size);
    }
    Block(const Block&) = delete;
    ~Block() { ledger.release(bytes.capacity()); }

    Ledger& ledger;
    std::uint64_t begin_byte;  // of the uncompressed object
    std::vector<std::byte> bytes;
  };
  using BlockPtr = std::shared_ptr<const Block>;

  StreamBlocks(const Source& source, std::shared_ptr<Ledger> ledger, const StreamPlan& plan);
  StreamBlocks(const StreamBlocks&) = delete;
  ~StreamBlocks();

  Result<BlockPtr> get(std::size_t block);

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
  Result<BlockPtr> read_up_to(Decoder& decoder, std::size_t block);
  Result<BlockPtr> read(Decoder& decoder, std::size_t block);
  Status open(Decoder& decoder, std::uint32_t stream);
  bool make_room(std::uint64_t bytes);
  std::shared_ptr<Decoder> decoder_of(std::uint32_t stream);
  std::size_t first_block_of(std::uint32_t stream) const;

  const Source& source_;
  const std::shared_ptr<Ledger> ledger_;
  const StreamPlan plan_;
  std::mutex mutex_;
  std::uint64_t now_ = 0;
  std::uint64_t held_bytes_ = 0;  // by kept_
  std::unordered_map<std::size_t, Entry> kept_;
  std::unordered_map<std::uint32_t, std::shared_ptr<Decoder>> decoders_;
};

}  // namespace penstock
