// Decoded chunks, shared by the workers and kept as long as the known order wants them.
//
// Whoever needs a chunk claims it. The first decodes it into the shelf's memory, others find it
// there. When memory is short, the chunk whose next use is farthest off goes first; one that is
// wanted later than everything that is there is not put on the shelf at all: its worker decodes it
// for itself. A worker holds one chunk at a time and never waits for memory while it does, so
// nobody can wait for each other. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/ledger.h"
#include "penstock/result.h"
#include "plan/chunk_id.h"
#include "plan/chunk_uses.h"
#include "store/store.h"

namespace penstock {

struct ChunkClaim {
  enum class Kind : std::uint8_t {
    kReady,   // `bytes` holds it; release() when done
    kDecode,  // decode it into `bytes`, then publish() or fail(); then release()
    kAlone,   // decode it elsewhere, for this sample only
    kBusy,    // another worker is decoding it
  } kind = Kind::kAlone;
  MutableBytes bytes;
};

class ChunkShelf {
 public:
  ChunkShelf(std::shared_ptr<Ledger> ledger, std::uint64_t capacity_bytes);
  ~ChunkShelf();
  ChunkShelf(const ChunkShelf&) = delete;

  // A new epoch begins to walk through its samples: what failed is forgotten, and tried again. The
  // number that its samples have as `walk`, and when the first of them is due.
  SampleUse start_walk();
  // Drops those whose objects have changed, unless somebody is at work with them.
  using IsCurrent = std::function<bool(const ChunkId&, const ObjectVersion&)>;
  void drop_changed(const IsCurrent& is_current);
  // It comes no further: what it planned is forgotten. Its chunks stay while there is room.
  void end_walk(std::uint64_t walk);

  // Plans: the sample uses these chunks (in a walk, samples come in the order in which they are due).
  // Returns those that no sample planned before uses and that are not on the shelf: the ones to be read.
  std::vector<ChunkId> plan(const SampleUse& sample, std::span<const ChunkId> chunks);
  std::size_t planned_uses() const;
  // The sample is made, or never will be.
  void finish(const SampleUse& sample, std::span<const ChunkId> chunks);

  // `is_direct`: decoding it for this sample alone would cost no copy. Fails as the chunk did before.
  Result<ChunkClaim> claim(const SampleUse& sample, const ChunkId& chunk, std::size_t bytes, bool is_direct);
  // `version`: of the object that it was decoded from.
  void publish(const ChunkId& chunk, const ObjectVersion& version = {});
  // Damage is remembered until the next epoch begins, so that others need not find out for themselves.
  void fail(const ChunkId& chunk, const Error& error);
  void release(const ChunkId& chunk);

  // Waits until some chunk that was busy is not, if none was published since `seen`.
  std::uint64_t changes() const;
  void wait_for_change(std::uint64_t seen);

 private:
  struct Memory {
    MemoryBlock block;  // large ones
    std::unique_ptr<std::byte[]> heap;
    std::size_t size = 0;
    std::byte* data() const { return heap ? heap.get() : block.data(); }
  };
  struct Rank {  // farthest next use first, then longest unused
    std::uint64_t next_use, last_use;
    ChunkId chunk;
    bool operator<(const Rank& other) const {
      if (next_use != other.next_use) return next_use > other.next_use;
      if (last_use != other.last_use) return last_use < other.last_use;
      return chunk < other.chunk;
    }
  };
  struct Entry {
    Memory memory;
    ObjectVersion version;
    bool is_ready = false;
    unsigned holders = 0;
    Rank rank{};
  };

  bool make_room(std::size_t bytes, std::uint64_t next_use);
  bool take_memory(std::size_t bytes, Memory& out);
  void put_memory_by(Memory memory);
  bool drop_spare();
  void rank_anew(const ChunkId& chunk, Entry& entry);
  void unrank(Entry& entry);

  const std::shared_ptr<Ledger> ledger_;
  const std::uint64_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ChunkUses uses_;
  std::unordered_map<ChunkId, Entry> entries_;
  std::set<Rank> ranks_;  // of entries that are ready and that nobody holds
  std::unordered_map<ChunkId, Error> failed_;
  // Memory of chunks that went, to be used again: fresh pages cost more than decoding some chunks.
  std::multimap<std::size_t, Memory> spare_;
  std::uint64_t held_bytes_ = 0;  // entries and spare
  std::uint64_t now_ = 0, changes_ = 0;
  std::uint64_t walks_ = 0, latest_due_ = 0;  // of the samples that are made
};

}  // namespace penstock
