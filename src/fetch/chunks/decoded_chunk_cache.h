// Decoded chunks, shared by the workers and kept as long as the known order wants them.
//
// A worker that needs a chunk claims it. The first one decodes it into the shelf's memory, others find
// it there. When memory is short, the chunk whose next use is farthest off goes first. Uses by samples in
// the making do not count for that: before it goes, the chunk is handed to all of them (open_sample.h), so
// that no batch needs it twice. A chunk that nobody holds can always go, so a chunk can always be decoded
// once the workers at the others are done.
// A worker holds one chunk at a time. While it does, it waits for nothing but memory that other workers
// hold only while they decode, so that no two workers can wait for each other. Thread-safe.
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
#include "base/memory/ledger.h"
#include "base/memory/memory_block.h"
#include "penstock/result.h"
#include "fetch/chunks/open_sample.h"
#include "plan/chunk_id.h"
#include "plan/chunk_uses.h"
#include "store/store.h"

namespace penstock {

struct ChunkClaim {
  enum class Kind : std::uint8_t {
    kReady,   // `bytes` holds it; release() when done
    kDecode,  // decode it into `bytes`, then publish() or fail(); then release()
    kAlone,   // decode it elsewhere, for this sample only
    kBusy,    // another worker is decoding it, or handing it over, or others hold all of the memory
    kThere,   // another worker handed it to the sample
    kHandOn,  // there is no memory before `chunk` has gone: hand it to the samples that need it, then evict() it
  } kind = Kind::kAlone;
  MutableBytes bytes;
  ChunkId chunk{};
};

// What a sample needs of a chunk.
struct ChunkNeed {
  static constexpr std::size_t kImpossible = SIZE_MAX;

  std::size_t bytes = 0;  // of the whole chunk, decoded
  // How much of it would have to be decoded for this sample alone, without the shelf's memory.
  std::size_t bytes_alone = kImpossible;
  bool is_direct = false;  // and lies in the batch then, without a copy
};

class DecodedChunkCache {
 public:
  // `loan_bytes`: may be used besides while nobody asks for them back, to keep chunks but not to decode them.
  DecodedChunkCache(std::shared_ptr<Ledger> ledger, std::uint64_t capacity_bytes, std::uint64_t loan_bytes = 0);
  ~DecodedChunkCache();
  DecodedChunkCache(const DecodedChunkCache&) = delete;

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
  // The sample is made, or never will be. Waits until nothing is being handed to it.
  void finish(const SampleUse& sample, std::span<const ChunkId> chunks);

  // Samples of this walk that are due before `end` are in the making.
  void set_open(std::uint64_t walk, std::uint64_t end);
  // A worker begins with the sample, which can be handed chunks from now on. Returns what was `made` for it, or what
  // another worker made before, which is used instead. Without: nothing where there is none.
  OpenSamplePtr open(const SampleUse& sample, const OpenSamplePtr& made);
  // The batch of `count` samples of this walk, due from `first` on, is given back: nothing can be handed to them.
  void close(std::uint64_t walk, std::uint64_t first, std::uint64_t count);

  // Samples in the making that have not used the chunk.
  std::vector<SampleUse> waiting_for(const ChunkId& chunk) const;
  // The chunk is to be handed to this sample; nothing where the sample does not need it any more. A sample that is
  // not open yet becomes so by what was `made` for it; without, nothing.
  OpenSamplePtr begin_handing(const SampleUse& sample, const ChunkId& chunk, OpenSamplePtr made = nullptr);
  // `is_there`: all elements of it are.
  void end_handing(const SampleUse& sample, const ChunkId& chunk, bool is_there);

  // Fails as the chunk did before.
  Result<ChunkClaim> claim(const SampleUse& sample, const ChunkId& chunk, const ChunkNeed& need);
  // `version`: of the object that it was decoded from.
  void publish(const ChunkId& chunk, const ObjectVersion& version = {});
  // Damage is remembered until the next epoch begins, so that others need not find out for themselves.
  void fail(const ChunkId& chunk, const Error& error);
  void release(const ChunkId& chunk);
  // After kHandOn: lets it go, unless another worker holds it.
  void evict(const ChunkId& chunk);

  // So many bytes less of the loan can be used from now on. kHandOn: there is something to be done before they are
  // free; then ask again, with 0. Waits for workers that hold a chunk.
  ChunkClaim reduce_loan(std::uint64_t bytes);
  void restore_loan();
  // The sample gets the chunk elsewhere: kAlone, or kThere or kBusy where another worker hands it over.
  ChunkClaim::Kind take(const SampleUse& sample, const ChunkId& chunk);

  // How much memory would have been enough to decode no planned chunk twice.
  std::uint64_t max_bytes_in_use() const;
  std::uint64_t capacity() const { return capacity_; }

  // Waits until a chunk that was busy may be claimed, unless that came about since `seen`.
  std::uint64_t changes() const;
  void wait_for_change(std::uint64_t seen);

 private:
  struct Memory {
    MemoryBlock block;  // large ones
    std::unique_ptr<std::byte[]> heap;
    std::size_t size = 0;
    std::byte* data() const { return heap ? heap.get() : block.data(); }
  };
  // Which of two chunks goes first: the one whose next use is farther off. A sample uses its chunks in their
  // order, so of two that the same sample uses next it is the last. Of those without a use, the one unused longest.
  struct Rank {
    std::uint64_t next_use, last_use;
    ChunkId chunk;
    bool operator<(const Rank& other) const {
      if (next_use != other.next_use) return next_use > other.next_use;
      if (next_use == ChunkUses::kNever && last_use != other.last_use) return last_use < other.last_use;
      return other.chunk < chunk;
    }
  };
  struct Entry {
    Memory memory;
    ObjectVersion version;
    bool is_ready = false;
    unsigned holders = 0;
    Rank rank{};
  };

  enum class Evict : std::uint8_t { kLaterOnes, kAny };
  enum class Room : std::uint8_t { kYes, kNo, kHandOn };
  // kHandOn: there is once `victim` has gone.
  Room make_room(std::size_t bytes, Evict evict, std::uint64_t next_use, ChunkId& victim);
  void remove(std::unordered_map<ChunkId, Entry>::iterator entry);
  // kAlone: nobody hands it over.
  ChunkClaim leave(const ChunkId& victim);
  ChunkClaim::Kind handed(const SampleUse& sample, const ChunkId& chunk) const;
  void close_one(std::unique_lock<std::mutex>& lock, const SampleUse& sample);
  void rank_open_anew();
  bool take_memory(std::size_t bytes, Memory& out);
  void recycle_memory(Memory memory);
  bool drop_spare();
  void rank_anew(const ChunkId& chunk, Entry& entry);
  void unrank(Entry& entry);

  const std::shared_ptr<Ledger> ledger_;
  const std::uint64_t capacity_, whole_loan_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ChunkUses uses_;
  std::unordered_map<ChunkId, Entry> entries_;
  std::set<Rank> ranks_;  // of entries that are ready and that nobody holds
  std::unordered_map<ChunkId, Error> failed_;
  std::unordered_map<SampleUse, OpenSamplePtr> open_;
  // Memory of chunks that went, to be used again: fresh pages cost more than decoding some chunks.
  std::multimap<std::size_t, Memory> spare_;
  std::uint64_t held_bytes_ = 0;      // entries and spare
  std::uint64_t decoding_bytes_ = 0;  // of entries that are not ready; never of the loan
  std::uint64_t loan_;                // what is left of it
  std::uint64_t now_ = 0, changes_ = 0;
  bool is_memory_wanted_ = false;  // a claim was refused for lack of it
  std::uint64_t walks_ = 0, latest_due_ = 0;  // of the samples that are made
};

}  // namespace penstock
