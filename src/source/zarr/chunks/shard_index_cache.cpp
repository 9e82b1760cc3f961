#include "source/zarr/chunks/shard_index_cache.h"

namespace penstock {

KnownShardPtr ShardIndexCache::find(const ShardId& id) {
  const MutexLock lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->shard;
}

void ShardIndexCache::insert(const ShardId& id, KnownShardPtr shard) {
  const MutexLock lock(mutex_);
  if (const auto found = by_id_.find(id); found != by_id_.end()) remove(found);
  held_bytes_ += shard->size_bytes();
  entries_.push_front({id, std::move(shard)});
  by_id_.emplace(id, entries_.begin());
  while (held_bytes_ > max_bytes_ && entries_.size() > 1) remove(by_id_.find(entries_.back().id));
}

void ShardIndexCache::erase(const ShardId& id) {
  const MutexLock lock(mutex_);
  if (const auto found = by_id_.find(id); found != by_id_.end()) remove(found);
}

std::size_t ShardIndexCache::held_bytes() const {
  const MutexLock lock(mutex_);
  return held_bytes_;
}

void ShardIndexCache::remove(std::map<ShardId, EntryIterator>::iterator found) {
  held_bytes_ -= found->second->shard->size_bytes();
  entries_.erase(found->second);
  by_id_.erase(found);
}

}  // namespace penstock
