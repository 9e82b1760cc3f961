#include "pipeline/chunk_shelf.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::size_t kWorthPages = 256 << 10;  // below this, the heap serves better than whole pages
constexpr std::size_t kFailuresKept = 10'000;

}  // namespace

ChunkShelf::ChunkShelf(std::shared_ptr<Ledger> ledger, std::uint64_t capacity_bytes)
    : ledger_(std::move(ledger)),
      capacity_(capacity_bytes) {}

ChunkShelf::~ChunkShelf() { ledger_->release(held_bytes_); }

SampleUse ChunkShelf::start_walk() {
  const std::lock_guard lock(mutex_);
  failed_.clear();
  // As far on as the others are: none of them is more urgent than another.
  return {latest_due_ + 1, ++walks_};
}

void ChunkShelf::drop_changed(const IsCurrent& is_current) {
  const std::lock_guard lock(mutex_);
  for (auto found = entries_.begin(); found != entries_.end();) {
    Entry& entry = found->second;
    if (!entry.is_ready || entry.holders > 0 || is_current(found->first, entry.version)) {
      ++found;
      continue;
    }
    unrank(entry);
    put_memory_by(std::move(entry.memory));
    found = entries_.erase(found);
  }
}

void ChunkShelf::end_walk(std::uint64_t walk) {
  const std::lock_guard lock(mutex_);
  uses_.forget_walk(walk);
  for (auto& [chunk, entry] : entries_)
    if (entry.is_ready && entry.holders == 0) rank_anew(chunk, entry);
}

std::vector<ChunkId> ChunkShelf::plan(const SampleUse& sample, std::span<const ChunkId> chunks) {
  const std::lock_guard lock(mutex_);
  std::vector<ChunkId> fresh;
  for (const ChunkId& chunk : chunks)
    if (uses_.next(chunk) == ChunkUses::kNever && !entries_.contains(chunk)) fresh.push_back(chunk);
  uses_.add(sample, chunks);
  for (const ChunkId& chunk : chunks)
    if (const auto found = entries_.find(chunk);
        found != entries_.end() && found->second.is_ready && found->second.holders == 0)
      rank_anew(chunk, found->second);
  return fresh;
}

std::size_t ChunkShelf::planned_uses() const {
  const std::lock_guard lock(mutex_);
  return uses_.size();
}

void ChunkShelf::finish(const SampleUse& sample, std::span<const ChunkId> chunks) {
  const std::lock_guard lock(mutex_);
  latest_due_ = std::max(latest_due_, sample.due);
  uses_.finish(sample, chunks);
  for (const ChunkId& chunk : chunks)
    if (const auto found = entries_.find(chunk);
        found != entries_.end() && found->second.is_ready && found->second.holders == 0)
      rank_anew(chunk, found->second);
}

Result<ChunkClaim> ChunkShelf::claim(const SampleUse& sample, const ChunkId& chunk, std::size_t bytes,
                                     bool is_direct) {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(chunk); found != entries_.end()) {
    Entry& entry = found->second;
    if (!entry.is_ready) return ChunkClaim{ChunkClaim::Kind::kBusy, {}};
    if (entry.holders++ == 0) unrank(entry);
    return ChunkClaim{ChunkClaim::Kind::kReady, {entry.memory.data(), entry.memory.size}};
  }
  if (const auto bad = failed_.find(chunk); bad != failed_.end()) return std::unexpected(bad->second);
  // Wanted now, but what counts is whether it is worth its place afterwards.
  const std::uint64_t next_use = uses_.next_beside(chunk, sample);
  if (is_direct && next_use == ChunkUses::kNever) return ChunkClaim{ChunkClaim::Kind::kAlone, {}};
  Memory memory;
  if (!make_room(bytes, next_use) || !take_memory(bytes, memory))
    return ChunkClaim{ChunkClaim::Kind::kAlone, {}};
  Entry& entry = entries_[chunk];
  entry.memory = std::move(memory);
  entry.holders = 1;
  return ChunkClaim{ChunkClaim::Kind::kDecode, {entry.memory.data(), bytes}};
}

void ChunkShelf::publish(const ChunkId& chunk, const ObjectVersion& version) {
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_.at(chunk);
    entry.version = version;
    entry.is_ready = true;
    ++changes_;
  }
  changed_.notify_all();
}

void ChunkShelf::fail(const ChunkId& chunk, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(chunk);
    if (found != entries_.end()) {
      put_memory_by(std::move(found->second.memory));
      entries_.erase(found);
    }
    // The next sample may try again after a lack of memory, after what may pass, and where the epoch that
    // read the chunk was given up.
    const bool is_damage =
        !error.retryable && error.code != ErrorCode::kNoMemory && error.code != ErrorCode::kStopped;
    if (is_damage && failed_.size() < kFailuresKept) failed_.emplace(chunk, error);
    ++changes_;
  }
  changed_.notify_all();
}

void ChunkShelf::release(const ChunkId& chunk) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(chunk);
  if (found == entries_.end()) return;  // it failed
  Entry& entry = found->second;
  if (--entry.holders == 0) rank_anew(chunk, entry);
}

std::uint64_t ChunkShelf::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void ChunkShelf::wait_for_change(std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return changes_ != seen; });
}

void ChunkShelf::rank_anew(const ChunkId& chunk, Entry& entry) {
  unrank(entry);
  entry.rank = {uses_.next(chunk), ++now_, chunk};
  ranks_.insert(entry.rank);
}

void ChunkShelf::unrank(Entry& entry) { ranks_.erase(entry.rank); }

// Lets go of chunks that are wanted later than `next_use` (or never) until this many bytes fit.
bool ChunkShelf::make_room(std::size_t bytes, std::uint64_t next_use) {
  if (bytes > capacity_) return false;
  if (spare_.contains(bytes)) return true;
  while (held_bytes_ + bytes > capacity_) {
    if (drop_spare()) continue;
    if (ranks_.empty()) return false;
    const Rank worst = *ranks_.begin();
    if (worst.next_use != ChunkUses::kNever && worst.next_use <= next_use) return false;
    const auto found = entries_.find(worst.chunk);
    unrank(found->second);
    put_memory_by(std::move(found->second.memory));
    entries_.erase(found);
    if (spare_.contains(bytes)) return true;
  }
  return true;
}

bool ChunkShelf::take_memory(std::size_t bytes, Memory& out) {
  if (const auto found = spare_.find(bytes); found != spare_.end()) {
    out = std::move(found->second);
    spare_.erase(found);
    return true;
  }
  if (!ledger_->try_reserve(bytes)) return false;
  if (bytes >= kWorthPages) {
    out.block = MemoryBlock::allocate(bytes);
    if (out.block.size() == 0) {
      ledger_->release(bytes);
      return false;
    }
  } else {
    out.heap = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
  out.size = bytes;
  held_bytes_ += bytes;
  return true;
}

void ChunkShelf::put_memory_by(Memory memory) {
  const std::size_t size = memory.size;
  spare_.emplace(size, std::move(memory));
}

bool ChunkShelf::drop_spare() {
  if (spare_.empty()) return false;
  const auto first = spare_.begin();
  held_bytes_ -= first->first;
  ledger_->release(first->first);
  spare_.erase(first);
  return true;
}

}  // namespace penstock
