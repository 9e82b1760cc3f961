// Writes one shard of a Zarr array: its chunks in C order, then the index with a CRC32C of its own.
//
// Several threads encode chunks of the same shard. Each hands over its chunk when all chunks before it are written, so
// the bytes of a shard do not depend on threads.
//
// Thread-safe. The object becomes visible when the last chunk was added, or not at all.
#pragma once

#include <memory>
#include <vector>

#include "base/guarded.h"
#include "store/object_writer.h"

namespace penstock {

class ShardWriter {
 public:
  // `chunks` is the number of chunks in the index. Chunks from `last` on have no elements, and are not added.
  ShardWriter(std::unique_ptr<ObjectWriter> writer, std::uint64_t chunks, std::uint64_t last);

  static std::uint64_t memory_bytes(std::uint64_t chunks) { return 16 * chunks + 4; }

  // Waits for the chunks before this one, then appends it; empty: it is not stored. Adding the last chunk writes the
  // index and commits. Does nothing if an earlier chunk failed: the thread that had it has the error.
  Status add(std::uint64_t chunk, ConstBytes encoded) PENSTOCK_EXCLUDES(mutex_);
  // Called by a thread that has no chunk to add because of an error. Wakes the threads that wait for it.
  void give_up() PENSTOCK_EXCLUDES(mutex_);

  std::uint64_t bytes() PENSTOCK_EXCLUDES(mutex_);

 private:
  Status append(ConstBytes bytes) PENSTOCK_REQUIRES(mutex_);
  Status finish() PENSTOCK_REQUIRES(mutex_);

  const std::uint64_t last_;
  Mutex mutex_;
  ConditionVariable turned_;
  std::unique_ptr<ObjectWriter> writer_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<std::byte> index_ PENSTOCK_GUARDED_BY(mutex_);
  std::uint64_t next_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::uint64_t bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  bool has_failed_ PENSTOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock
