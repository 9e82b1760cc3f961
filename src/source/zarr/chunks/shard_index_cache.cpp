#include "source/zarr/chunks/shard_index_cache.h"

namespace penstock {

KnownShardPtr ShardIndexCache::find(const ShardId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->shard;
}

void ShardIndexCache::keep(const ShardId& id, KnownShardPtr shard) {
  const std::lock_guard lock(mutex_);
  if (const auto found = places_.find(id); found != places_.end()) remove(found);
  held_bytes_ += shard->size_bytes();
  entries_.push_front({id, std::move(shard)});
  places_.emplace(id, entries_.begin());
  while (held_bytes_ > max_bytes_ && entries_.size() > 1) remove(places_.find(entries_.back().id));
}

void ShardIndexCache::forget(const ShardId& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = places_.find(id); found != places_.end()) remove(found);
}

std::size_t ShardIndexCache::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

void ShardIndexCache::remove(std::map<ShardId, Place>::iterator found) {
  held_bytes_ -= found->second->shard->size_bytes();
  entries_.erase(found->second);
  places_.erase(found);
}

}  // namespace penstock
