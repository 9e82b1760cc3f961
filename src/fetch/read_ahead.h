// Reads bytes before their samples need them, where a store answers many reads at a time (HTTP): as many as the store
// wants in flight, in the order of need, joined where they lie close together.
//
// What was read waits, within its share of the memory budget, until a worker takes it. A worker reads by itself what
// was not read ahead (no memory was left, or the sample is a stand-in), so nobody waits for memory.
// Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <unordered_set>
#include <vector>

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

class ReadAhead {
 public:
  // Bytes that were read, and who else has part of them.
  struct Bytes {
    ConstBytes bytes;
    std::uint64_t offset = 0;  // of the first of them, in the object
    std::shared_ptr<const void> memory;
    ObjectVersion version;  // of the object they were read from
  };

  // Memory comes from the area, all of it unless limit() says less.
  ReadAhead(const Source& source, std::shared_ptr<Area> area);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;

  // Breaks off what is under way, so that nobody waits for it longer; then, begins anew.
  void interrupt();
  // Those of the first batch are spread over all requests: until it is there, nothing goes on.
  void start(const PositionRange& first_batch);
  // The sample at this position needs these (positions rise).
  void want(std::uint64_t position, std::span<const ChunkId> chunks);
  void want(std::uint64_t position, const Store& store, std::vector<ObjectRead> reads);
  // Each hands over the answer of a read that was planned, waiting for it where it is under way; nothing where it was
  // not, or cannot be, read ahead: the bytes of an extent of the sample at this position, a chunk, the version of an
  // object.
  std::optional<Result<Bytes>> take(std::uint64_t position, const Extent& extent);
  std::optional<Result<Bytes>> take(const ChunkId& chunk);
  std::optional<Result<Bytes>> take_version(const std::string& object);
  // Reads it now, into memory that `room` gives.
  Result<ObjectBytes> read(const Store& store, const ObjectRead& read, const Store::Allocate& room);
  // The indexes that location() of this chunk needs: waits for those that are under way, reads others.
  Status bring_indexes(const ChunkedArray& array, std::uint64_t chunk);
  // The sample is made: what was read for it and nobody took is dropped.
  void finish(std::uint64_t position);
  // At most so many bytes from now on. What was read for the samples that come last is dropped; their
  // workers read it again.
  void limit(std::uint64_t bytes);

 private:
  struct Name {
    std::string key;
    ByteRange range;
    bool operator==(const Name&) const = default;
  };
  struct NameHash {
    std::size_t operator()(const Name& name) const;
  };
  // Of one joined read.
  struct Memory {
    Memory(ReadAhead& owner_, std::size_t size_);
    ~Memory();
    ReadAhead& owner;
    std::size_t size;
    MemoryBlock block;
  };
  struct Fetch {
    ObjectRead read;
    const Store* store = nullptr;
    std::uint64_t position = 0;
    enum class State : std::uint8_t { kQueued, kReading, kArrived, kRefused } state = State::kQueued;
    std::optional<Error> error;
    ConstBytes bytes;
    std::shared_ptr<Memory> memory;
    ObjectVersion version;
    std::optional<ChunkId> chunk;  // whose bytes they are
  };
  using FetchPtr = std::shared_ptr<Fetch>;
  struct Unplaced {  // chunks whose place is not known before an index was read
    std::uint64_t position = 0;
    std::vector<ChunkId> chunks;
  };

  void add(std::uint64_t position, const Store& store, ObjectRead read, std::size_t reads,
           std::optional<ChunkId> chunk = std::nullopt);
  // Waits for the answer, and forgets the fetch.
  std::optional<Result<Bytes>> hand_over(std::unique_lock<std::mutex>& lock, FetchPtr fetch);
  void forget(const Fetch& fetch);
  std::size_t urgent_requests(std::uint64_t position, std::size_t reads, const Store& store) const;
  bool is_in_first_batch(std::uint64_t position) const;
  std::size_t limit_at(std::uint64_t position, const Store& store) const;
  bool index_comes_first() const;
  void place_chunks();
  void start_index(std::unique_lock<std::mutex>& lock);
  void pump(std::unique_lock<std::mutex>& lock);
  JoinedRead next_joined(std::size_t limit) const;
  void start_joined(const JoinedRead& joined, std::unique_lock<std::mutex>& lock);
  Result<std::shared_ptr<Memory>> allocate(std::size_t bytes);
  bool has_room() const;

  const Source& source_;
  const std::shared_ptr<Area> area_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t generation_ = 0;
  PositionRange first_batch_;
  std::stop_source stop_;
  std::deque<Unplaced> unplaced_;  // in order of need
  std::deque<FetchPtr> queue_;     // not started, in order of need
  std::unordered_map<Name, FetchPtr, NameHash> fetches_;
  std::unordered_map<std::uint64_t, std::vector<FetchPtr>> by_position_;
  std::unordered_map<ChunkId, FetchPtr> by_chunk_;
  struct IndexRead {
    std::uint64_t position;
    ChunkId chunk;
    const Store* store;
    ObjectRead read;
  };
  std::deque<IndexRead> index_queue_;                         // in order of need
  std::unordered_set<Name, NameHash> indexes_, bad_indexes_;  // asked for; asked for in vain
  std::size_t in_flight_ = 0;
  std::size_t answers_ = 0;  // being dealt with, on threads of the store
  std::uint64_t expected_bytes_ = 0;  // of what is under way, as far as it is known or guessed
  double average_bytes_ = 256 << 10;
  std::atomic<std::uint64_t> held_bytes_{0}, capacity_;
  bool is_pumping_ = false;
};

}  // namespace penstock
