// Blocks of compressed shards, decompressed once and shared by the workers.
//
// A shard is read forward by one decoder. A block is kept until newer ones need its memory: the order
// of a forward-only source visits blocks in windows, so what was used longest ago is not needed
// again. Going back (a stand-in for a bad sample, a list of indices) begins the shard anew: slow,
// never wrong. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/ledger.h"
#include "penstock/source.h"
#include "source/forward_reader.h"
#include "store/store.h"

namespace penstock {

class StreamBlocks {
 public:
  struct Block {
    std::uint64_t begin_byte = 0;  // of the uncompressed object
    std::vector<std::byte> bytes;
  };

  // Holds at most `area_bytes`, and `decoders` shards open.
  StreamBlocks(const Source& source, Ledger& ledger, std::uint64_t area_bytes, std::size_t decoders);
  ~StreamBlocks();

  Result<std::shared_ptr<const Block>> get(std::size_t block);

  // What a window of this many blocks and the one after it take at most.
  static std::uint64_t bytes_for(const Source& source, std::uint64_t window);

 private:
  struct Decoder {
    std::mutex mutex;  // one reads at a time
    std::unique_ptr<Object> object;
    std::unique_ptr<ForwardReader> reader;
    std::size_t next_block = 0;  // the first that it has not passed
    std::uint64_t last_use = 0;
  };
  struct Entry {
    std::shared_ptr<const Block> block;
    std::uint64_t last_use = 0;
  };

  std::shared_ptr<const Block> find(std::size_t block);
  Status read_up_to(Decoder& decoder, std::size_t block);
  Status open(Decoder& decoder, std::uint32_t stream);
  Status keep(std::size_t number, std::shared_ptr<const Block> block);
  std::shared_ptr<Decoder> decoder_of(std::uint32_t stream);
  std::size_t first_block_of(std::uint32_t stream) const;

  const Source& source_;
  Ledger& ledger_;
  const std::uint64_t area_bytes_;
  const std::size_t most_decoders_;
  std::mutex mutex_;
  std::uint64_t now_ = 0, held_bytes_ = 0;
  std::unordered_map<std::size_t, Entry> kept_;
  std::unordered_map<std::uint32_t, std::shared_ptr<Decoder>> decoders_;
};

}  // namespace penstock
