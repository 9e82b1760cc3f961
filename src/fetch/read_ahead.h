// Reads bytes before their samples need them, from stores that answer many reads at a time (HTTP). It has as many reads
// in flight as the store wants, in the order of need, and joins reads of nearby bytes.
//
// Bytes that were read wait in memory, within their share of the budget, until a worker takes them. A worker reads
// itself whatever was not read ahead (no memory was left, or the sample is a stand-in), so nothing waits for memory.
// Thread-safe, except that start() must not run while a worker reads.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/guarded.h"
#include "base/memory/area.h"
#include "base/memory/memory_block.h"
#include "order/rank_slice.h"
#include "penstock/source.h"
#include "plan/chunk_id.h"
#include "plan/coalesce.h"
#include "source/chunked_array.h"
#include "source/source_storage.h"
#include "store/store.h"

namespace penstock {

class ReadAhead;
using ReadAheadMutex = ClassMutex<ReadAhead>;

class ReadAhead {
 public:
  // Bytes that were read. `memory` keeps them alive; joined reads share it.
  struct Bytes {
    ConstBytes bytes;
    std::uint64_t offset = 0;  // offset of the first byte in the object
    std::shared_ptr<const void> memory;
    ObjectVersion version;  // version of the object that they were read from
  };

  // Allocates from the area, and may use all of it unless limit() sets less.
  ReadAhead(const Source& source, std::shared_ptr<Area> area);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;

  // Cancels all reads in flight, so that no worker waits for them. start() begins again.
  void interrupt() PENSTOCK_EXCLUDES(mutex_);
  // Reads of the first batch are divided among all requests that the store allows, because training cannot begin
  // before that batch has arrived.
  void start(const PositionRange& first_batch) PENSTOCK_EXCLUDES(mutex_);
  // Plans reads for the sample at this position. Calls come in ascending order of positions.
  void want(std::uint64_t position, std::span<const ChunkId> chunks) PENSTOCK_EXCLUDES(mutex_);
  void want(std::uint64_t position, const Store& store, std::vector<ObjectRead> reads) PENSTOCK_EXCLUDES(mutex_);
  // Each of these takes the answer of a planned read: the bytes of an extent of the sample at this position, the bytes
  // of a chunk, or the version of an object. It waits if the read is in flight. It returns nullopt if the read was not
  // planned, not started, or refused for lack of memory.
  std::optional<Result<Bytes>> take(std::uint64_t position, const Extent& extent) PENSTOCK_EXCLUDES(mutex_);
  std::optional<Result<Bytes>> take(const ChunkId& chunk) PENSTOCK_EXCLUDES(mutex_);
  std::optional<Result<Bytes>> take_version(const std::string& object) PENSTOCK_EXCLUDES(mutex_);
  // Reads now, into memory from `allocate`, and waits for the answer. interrupt() makes it fail.
  Result<ObjectBytes> read(const Store& store, const ObjectRead& read, const Store::Allocate& allocate)
      PENSTOCK_EXCLUDES(mutex_);
  // Loads the indexes that location() of this chunk needs: waits for those in flight, and reads the others.
  Status bring_indexes(const ChunkedArray& array, std::uint64_t chunk) PENSTOCK_EXCLUDES(mutex_);
  // Called when the sample is made. Drops what was read for it and not taken.
  void finish(std::uint64_t position) PENSTOCK_EXCLUDES(mutex_);
  // Sets the number of bytes that may be held. Drops what was read for the latest samples until the limit is met;
  // workers read those bytes again.
  void limit(std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_);

 private:
  struct Name {
    std::string key;
    ByteRange range;
    bool operator==(const Name&) const = default;
  };
  struct NameHash {
    std::size_t operator()(const Name& name) const;
  };
  // The memory of one joined read.
  struct Memory {
    Memory(ReadAhead& owner_, std::size_t size_);
    ~Memory();
    ReadAhead& owner;
    std::size_t size;
    MemoryBlock block;
  };
  // What stands before the state does not change any more once the fetch is in the queue.
  struct Fetch {
    ObjectRead read;
    const Store* store = nullptr;
    std::uint64_t position = 0;
    std::optional<ChunkId> chunk;  // whose bytes they are

    enum class State : std::uint8_t { kQueued, kReading, kArrived, kRefused };
    State state PENSTOCK_GUARDED_BY(ReadAheadMutex::held) = State::kQueued;
    std::optional<Error> error PENSTOCK_GUARDED_BY(ReadAheadMutex::held);
    ConstBytes bytes PENSTOCK_GUARDED_BY(ReadAheadMutex::held);
    std::shared_ptr<Memory> memory PENSTOCK_GUARDED_BY(ReadAheadMutex::held);
    ObjectVersion version PENSTOCK_GUARDED_BY(ReadAheadMutex::held);
  };
  using FetchPtr = std::shared_ptr<Fetch>;
  struct Unplaced {  // chunks whose location is known only after an index was read
    std::uint64_t position = 0;
    std::vector<ChunkId> chunks;
  };

  void add(std::uint64_t position, const Store& store, ObjectRead read, std::size_t reads,
           std::optional<ChunkId> chunk = std::nullopt)
      PENSTOCK_REQUIRES(mutex_);
  // Waits for the answer, and removes the fetch.
  std::optional<Result<Bytes>> hand_over(FetchPtr fetch) PENSTOCK_REQUIRES(mutex_, ReadAheadMutex::held);
  void forget(const Fetch& fetch) PENSTOCK_REQUIRES(mutex_);
  std::size_t urgent_requests(std::uint64_t position, std::size_t reads, const Store& store) const
      PENSTOCK_REQUIRES(mutex_);
  bool is_in_first_batch(std::uint64_t position) const PENSTOCK_REQUIRES(mutex_);
  std::size_t limit_at(std::uint64_t position, const Store& store) const PENSTOCK_REQUIRES(mutex_);
  bool index_comes_first() const PENSTOCK_REQUIRES(mutex_);
  void place_chunks() PENSTOCK_REQUIRES(mutex_);
  void start_index() PENSTOCK_REQUIRES(mutex_, ReadAheadMutex::held);
  void pump() PENSTOCK_REQUIRES(mutex_, ReadAheadMutex::held);
  JoinedRead next_joined(std::size_t limit) const PENSTOCK_REQUIRES(mutex_);
  void start_joined(const JoinedRead& joined) PENSTOCK_REQUIRES(mutex_, ReadAheadMutex::held);
  Result<std::shared_ptr<Memory>> allocate(std::size_t bytes);
  bool has_room() const PENSTOCK_REQUIRES(mutex_);

  const Source& source_;
  const std::shared_ptr<Area> area_;

  ReadAheadMutex mutex_;
  ConditionVariable changed_;
  std::uint64_t generation_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  PositionRange first_batch_ PENSTOCK_GUARDED_BY(mutex_);
  std::stop_source stop_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<Unplaced> unplaced_ PENSTOCK_GUARDED_BY(mutex_);  // in order of need
  std::deque<FetchPtr> queue_ PENSTOCK_GUARDED_BY(mutex_);     // not started, in order of need
  std::unordered_map<Name, FetchPtr, NameHash> fetches_ PENSTOCK_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::vector<FetchPtr>> by_position_ PENSTOCK_GUARDED_BY(mutex_);
  std::unordered_map<ChunkId, FetchPtr> by_chunk_ PENSTOCK_GUARDED_BY(mutex_);
  struct IndexRead {
    std::uint64_t position;
    ChunkId chunk;
    const Store* store;
    ObjectRead read;
  };
  std::deque<IndexRead> index_queue_ PENSTOCK_GUARDED_BY(mutex_);                // in order of need
  std::unordered_set<Name, NameHash> indexes_ PENSTOCK_GUARDED_BY(mutex_);       // asked for
  std::unordered_set<Name, NameHash> bad_indexes_ PENSTOCK_GUARDED_BY(mutex_);   // asked for in vain
  std::size_t in_flight_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::size_t answers_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // being dealt with, on threads of the store
  // Bytes of the reads in flight, as far as they are known or estimated.
  std::uint64_t expected_bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  double average_bytes_ PENSTOCK_GUARDED_BY(mutex_) = 256 << 10;
  bool is_pumping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> held_bytes_{0}, capacity_;
};

}  // namespace penstock
