#include "cache/lru_tier.h"

#include <list>
#include <unordered_map>

#include "base/guarded.h"
#include "base/memory/memory_block.h"
#include "base/random.h"

namespace penstock {
namespace {

struct KeyHash {
  std::size_t operator()(const EntryKey& key) const { return mix64(key.high ^ mix64(key.low)); }
};

struct Bytes {
  Bytes(std::uint64_t size_, const std::shared_ptr<Allocator>& allocator)
      : size(size_),
        block(MemoryBlock::allocate(size_, allocator)) {}
  MutableBytes bytes() const { return {block.data(), size}; }

  const std::uint64_t size;
  const MemoryBlock block;
  std::atomic<std::uint64_t> mark{0};
};

class LruTier final : public CacheTier {
 public:
  LruTier(std::uint64_t capacity_bytes, std::shared_ptr<Allocator> allocator)
      : capacity_(capacity_bytes),
        allocator_(std::move(allocator)) {}

  TierTraits traits() const override { return {.name = "ram"}; }

  std::optional<Found> find(const EntryKey& key, const Allocate&) override PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    const std::shared_ptr<Bytes>& bytes = found->second->bytes;
    return Found{bytes->bytes(), bytes, {bytes->mark, 0}};
  }

  bool has(const EntryKey& key) const override PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return entries_.contains(key);
  }

  std::optional<std::uint32_t> marked_at(const EntryKey& key) const override PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    return EntryMark(found->second->bytes->mark, 0).moment();
  }

  Result<Added> add(const EntryKey& key, std::uint64_t bytes, const Fill& fill, const Allocate&,
                    std::uint32_t moment) override PENSTOCK_EXCLUDES(mutex_) {
    if (has(key)) return Added::kTaken;
    if (bytes > capacity_) return Added::kFull;
    auto entry = std::make_shared<Bytes>(bytes, allocator_);
    if (entry->block.size() < bytes) return Added::kFull;
    if (auto filled = fill(entry->bytes()); !filled)
      return std::unexpected(std::move(filled).error());
    EntryMark(entry->mark, 0).set(moment);
    const MutexLock lock(mutex_);
    if (entries_.contains(key)) return Added::kTaken;
    while (used_ + bytes > capacity_) drop(std::prev(by_use_.end()));
    by_use_.push_front({key, std::move(entry)});
    entries_[key] = by_use_.begin();
    used_ += bytes;
    return Added::kYes;
  }

  void withdraw(const EntryKey& key) override PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) drop(found->second);
  }

  std::uint64_t free_bytes() const override { return UINT64_MAX; }  // it can always evict

  TierState state() const override PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return {traits().name, capacity_, used_, entries_.size(), 0, false};
  }

 private:
  struct Entry {
    EntryKey key;
    std::shared_ptr<Bytes> bytes;  // readers keep an evicted entry alive until they are done
  };

  void drop(std::list<Entry>::iterator entry) PENSTOCK_REQUIRES(mutex_) {
    used_ -= entry->bytes->size;
    entries_.erase(entry->key);
    by_use_.erase(entry);
  }

  const std::uint64_t capacity_;
  const std::shared_ptr<Allocator> allocator_;
  mutable Mutex mutex_;
  std::list<Entry> by_use_ PENSTOCK_GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<EntryKey, std::list<Entry>::iterator, KeyHash> entries_ PENSTOCK_GUARDED_BY(mutex_);
  std::uint64_t used_ PENSTOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace

CacheTierPtr make_lru_tier(std::uint64_t capacity_bytes, std::shared_ptr<Allocator> allocator) {
  return std::make_unique<LruTier>(capacity_bytes, std::move(allocator));
}

}  // namespace penstock
