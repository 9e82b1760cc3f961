// The indexes of shards that were read last, as many as fit 32 MiB. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "source/zarr/chunks/zarr_shard_index.h"

namespace penstock {

// What is known of a shard. A shard that is missing has no index.
struct KnownShard {
  std::optional<ShardIndex> index;
  ObjectVersion version;

  // With what keeping it takes.
  std::size_t size_bytes() const { return sizeof(KnownShard) + 160 + (index ? index->size_bytes() : 0); }
};
using KnownShardPtr = std::shared_ptr<const KnownShard>;

// Which shard: how deep in other shards, and its number among those of that depth.
struct ShardId {
  std::size_t level = 0;
  std::uint64_t number = 0;
  auto operator<=>(const ShardId&) const = default;
};

class ShardIndexCache {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20;

  explicit ShardIndexCache(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Null where nothing is known. The answer may be used after it was forgotten here.
  KnownShardPtr find(const ShardId& id);
  // Instead of what was known before. The newest is kept whatever its size.
  void insert(const ShardId& id, KnownShardPtr shard);
  void erase(const ShardId& id);
  std::size_t held_bytes() const;

 private:
  struct Entry {
    ShardId id;
    KnownShardPtr shard;
  };
  using EntryIterator = std::list<Entry>::iterator;
  void remove(std::map<ShardId, EntryIterator>::iterator found);

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // used last stands first
  std::map<ShardId, EntryIterator> by_id_;
  std::size_t held_bytes_ = 0;
};

}  // namespace penstock
