// A least-recently-used cache of shard indexes, of up to 32 MiB. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include "base/guarded.h"
#include "source/zarr/chunks/zarr_shard_index.h"

namespace penstock {

// The known facts about a shard. A missing shard has no index.
struct KnownShard {
  std::optional<ShardIndex> index;
  ObjectVersion version;

  // Memory use, including that of the cache entry.
  std::size_t size_bytes() const { return sizeof(KnownShard) + 160 + (index ? index->size_bytes() : 0); }
};
using KnownShardPtr = std::shared_ptr<const KnownShard>;

// Identifies a shard: its nesting depth, and its number among the shards of that depth.
struct ShardId {
  std::size_t level = 0;
  std::uint64_t number = 0;
  auto operator<=>(const ShardId&) const = default;
};

class ShardIndexCache {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20;

  explicit ShardIndexCache(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // nullptr: the cache has no entry. The result stays valid after its entry was evicted.
  KnownShardPtr find(const ShardId& id) PENSTOCK_EXCLUDES(mutex_);
  // Replaces the entry of this shard, if any. The newest entry is cached regardless of its size.
  void insert(const ShardId& id, KnownShardPtr shard) PENSTOCK_EXCLUDES(mutex_);
  void erase(const ShardId& id) PENSTOCK_EXCLUDES(mutex_);
  std::size_t held_bytes() const PENSTOCK_EXCLUDES(mutex_);

 private:
  struct Entry {
    ShardId id;
    KnownShardPtr shard;
  };
  using EntryIterator = std::list<Entry>::iterator;
  void remove(std::map<ShardId, EntryIterator>::iterator found) PENSTOCK_REQUIRES(mutex_);

  const std::size_t max_bytes_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ PENSTOCK_GUARDED_BY(mutex_);  // most recently used first
  std::map<ShardId, EntryIterator> by_id_ PENSTOCK_GUARDED_BY(mutex_);
  std::size_t held_bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock
