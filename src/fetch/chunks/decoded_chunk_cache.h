// A cache of decoded chunks that samples share. The order of samples is known, so it evicts by next use.
//
// A worker that needs a chunk claims it. The first worker decodes it into memory of this cache; others find it there.
// When memory is short, the chunk whose next use is farthest in the future is evicted first. Uses by samples in the
// making do not count for that: before a chunk is evicted, it is copied to all of them (open_sample.h), so that no
// batch needs it twice. A chunk that no worker holds can always be evicted, so a chunk can always be decoded once the
// workers that hold others are done.
//
// A worker holds at most one chunk. While it does, it waits for nothing but memory that other workers hold only while
// they decode, so no two workers can wait for each other. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
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
    kHandOn,  // memory is short: copy `chunk` to the samples that need it, evict() it, and claim again
  } kind = Kind::kAlone;
  MutableBytes bytes;
  ChunkId chunk{};
};

// The part of a chunk that a sample needs.
struct ChunkNeed {
  static constexpr std::size_t kImpossible = SIZE_MAX;

  std::size_t bytes = 0;  // of the whole chunk, decoded
  // Bytes that would have to be decoded for this sample alone, without memory of the cache.
  std::size_t bytes_alone = kImpossible;
  bool is_direct = false;  // the chunk can be decoded straight into the batch, without a copy
};

class DecodedChunkCache {
 public:
  // `loan_bytes` may be used in addition until they are asked back, to hold decoded chunks but not to decode them.
  // Each chunk is a block of the allocator.
  DecodedChunkCache(std::shared_ptr<Ledger> ledger, std::uint64_t capacity_bytes, std::uint64_t loan_bytes = 0,
                    std::shared_ptr<Allocator> allocator = small_on_heap_allocator());
  ~DecodedChunkCache();
  DecodedChunkCache(const DecodedChunkCache&) = delete;

  // Begins the walk of an epoch through its samples. Chunks that failed before are tried again. Returns the number of
  // the walk, and when its first sample is due.
  SampleUse start_walk() PENSTOCK_EXCLUDES(mutex_);
  // Evicts chunks whose objects have changed, unless a worker holds them.
  using IsCurrent = std::function<bool(const ChunkId&, const ObjectVersion&)>;
  void drop_changed(const IsCurrent& is_current) PENSTOCK_EXCLUDES(mutex_);
  // Ends the walk and forgets what it planned. Its chunks stay while there is memory.
  void end_walk(std::uint64_t walk) PENSTOCK_EXCLUDES(mutex_);

  // Plans that the sample uses these chunks. In a walk, samples are planned in the order in which they are due. Returns
  // the chunks that must be read: those that are neither cached nor used by a sample that was planned before.
  std::vector<ChunkId> plan(const SampleUse& sample, std::span<const ChunkId> chunks) PENSTOCK_EXCLUDES(mutex_);
  std::size_t planned_uses() const PENSTOCK_EXCLUDES(mutex_);
  // The sample is made, or never will be. Waits until no worker copies a chunk to it.
  void finish(const SampleUse& sample, std::span<const ChunkId> chunks) PENSTOCK_EXCLUDES(mutex_);

  // Declares that samples of this walk that are due before `end` are in the making.
  void set_open(std::uint64_t walk, std::uint64_t end) PENSTOCK_EXCLUDES(mutex_);
  // A worker begins with the sample; chunks may be copied to it from now on. Returns `made`, or the open sample that
  // another worker made for it before. With nullptr, returns only what another worker made.
  OpenSamplePtr open(const SampleUse& sample, const OpenSamplePtr& made) PENSTOCK_EXCLUDES(mutex_);
  // The batch of `count` samples of this walk, due from `first` on, leaves: nothing may be copied to it any more.
  void close(std::uint64_t walk, std::uint64_t first, std::uint64_t count) PENSTOCK_EXCLUDES(mutex_);

  // Returns the samples in the making that still need the chunk.
  std::vector<SampleUse> waiting_for(const ChunkId& chunk) const PENSTOCK_EXCLUDES(mutex_);
  // Begins to copy the chunk to this sample; nullptr where the sample does not need it any more. A sample that is not
  // open yet is opened with `made`; without it, nullptr is returned.
  OpenSamplePtr begin_handing(const SampleUse& sample, const ChunkId& chunk, OpenSamplePtr made = nullptr)
      PENSTOCK_EXCLUDES(mutex_);
  // `is_there` says that all elements of the chunk were copied.
  void end_handing(const SampleUse& sample, const ChunkId& chunk, bool is_there) PENSTOCK_EXCLUDES(mutex_);

  // Fails with the error of an earlier attempt to decode the chunk, if there was one.
  Result<ChunkClaim> claim(const SampleUse& sample, const ChunkId& chunk, const ChunkNeed& need)
      PENSTOCK_EXCLUDES(mutex_);
  // The chunk is decoded. `version` is that of the object that it came from.
  void publish(const ChunkId& chunk, const ObjectVersion& version = {}) PENSTOCK_EXCLUDES(mutex_);
  // Remembers the damage until the next epoch begins, so that other workers do not decode the chunk again.
  void fail(const ChunkId& chunk, const Error& error) PENSTOCK_EXCLUDES(mutex_);
  void release(const ChunkId& chunk) PENSTOCK_EXCLUDES(mutex_);
  // After kHandOn: evicts the chunk, unless another worker holds it.
  void evict(const ChunkId& chunk) PENSTOCK_EXCLUDES(mutex_);

  // Makes the loan smaller by so many bytes. kHandOn: a chunk must be copied and evicted first; then call again with 0.
  // Waits for workers that hold a chunk.
  ChunkClaim reduce_loan(std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_);
  void restore_loan() PENSTOCK_EXCLUDES(mutex_);
  // The sample gets the chunk from elsewhere: kAlone; kThere or kBusy where another worker copies it to the sample.
  ChunkClaim::Kind take(const SampleUse& sample, const ChunkId& chunk) PENSTOCK_EXCLUDES(mutex_);

  // Bytes of memory that would have been enough to decode no planned chunk twice.
  std::uint64_t max_bytes_in_use() const PENSTOCK_EXCLUDES(mutex_);
  std::uint64_t capacity() const { return capacity_; }

  // wait_for_change() waits until changes() is not `seen` any more: a chunk that was busy may then be claimed.
  std::uint64_t changes() const PENSTOCK_EXCLUDES(mutex_);
  void wait_for_change(std::uint64_t seen) PENSTOCK_EXCLUDES(mutex_);

 private:
  struct Memory {
    MemoryBlock block;
    std::size_t size = 0;  // that was asked for; the block may have more
    std::byte* data() const { return block.data(); }
  };
  // Orders chunks for eviction. The chunk whose next use is farthest in the future comes first. A sample uses its
  // chunks in their order, so if the same sample uses two of them next, the later one comes first. Among chunks without
  // a planned use, the one that was unused longest comes first.
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
  // kHandOn: there will be enough once `victim` was copied to the samples that need it and evicted.
  Room make_room(std::size_t bytes, Evict evict, std::uint64_t next_use, ChunkId& victim) PENSTOCK_REQUIRES(mutex_);
  void remove(std::unordered_map<ChunkId, Entry>::iterator entry) PENSTOCK_REQUIRES(mutex_);
  ChunkClaim leave(const ChunkId& victim) PENSTOCK_REQUIRES(mutex_);
  // Whether another worker has copied the chunk to the sample (kThere), is copying it (kBusy), or neither (kAlone).
  ChunkClaim::Kind handed(const SampleUse& sample, const ChunkId& chunk) const
      PENSTOCK_REQUIRES(mutex_, ChunkCacheMutex::held);
  void close_one(const SampleUse& sample) PENSTOCK_REQUIRES(mutex_, ChunkCacheMutex::held);
  void rank_open_anew() PENSTOCK_REQUIRES(mutex_);
  bool take_memory(std::size_t bytes, Memory& out) PENSTOCK_REQUIRES(mutex_);
  void recycle_memory(Memory memory) PENSTOCK_REQUIRES(mutex_);
  bool drop_spare() PENSTOCK_REQUIRES(mutex_);
  void rank_anew(const ChunkId& chunk, Entry& entry) PENSTOCK_REQUIRES(mutex_);
  void unrank(Entry& entry) PENSTOCK_REQUIRES(mutex_);

  const std::shared_ptr<Ledger> ledger_;
  const std::uint64_t capacity_, whole_loan_;
  const std::shared_ptr<Allocator> allocator_;
  mutable ChunkCacheMutex mutex_;
  ConditionVariable changed_;
  ChunkUses uses_ PENSTOCK_GUARDED_BY(mutex_);
  std::unordered_map<ChunkId, Entry> entries_ PENSTOCK_GUARDED_BY(mutex_);
  std::set<Rank> ranks_ PENSTOCK_GUARDED_BY(mutex_);  // entries that are ready and that no worker holds
  std::unordered_map<ChunkId, Error> failed_ PENSTOCK_GUARDED_BY(mutex_);
  std::unordered_map<SampleUse, OpenSamplePtr> open_ PENSTOCK_GUARDED_BY(mutex_);
  // Memory of evicted chunks, used again because fresh pages cost more than decoding some chunks.
  std::multimap<std::size_t, Memory> spare_ PENSTOCK_GUARDED_BY(mutex_);
  std::uint64_t held_bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // entries and spare
  // Bytes of entries that are not ready; they never use the loan.
  std::uint64_t decoding_bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t loan_ PENSTOCK_GUARDED_BY(mutex_);  // what is left of it
  std::uint64_t now_ PENSTOCK_GUARDED_BY(mutex_) = 0, changes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  bool is_memory_wanted_ PENSTOCK_GUARDED_BY(mutex_) = false;  // a claim was refused for lack of memory
  std::uint64_t walks_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t latest_due_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // of the samples that are made
};

}  // namespace penstock
