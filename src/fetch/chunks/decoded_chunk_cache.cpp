#include "fetch/chunks/decoded_chunk_cache.h"

#include <algorithm>

#include "base/guarded.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxFailures = 10'000;  // how many damaged chunks are remembered per epoch

}  // namespace

DecodedChunkCache::DecodedChunkCache(std::shared_ptr<Ledger> ledger, std::uint64_t capacity_bytes,
                                     std::uint64_t loan_bytes, std::shared_ptr<Allocator> allocator)
    : ledger_(std::move(ledger)),
      capacity_(capacity_bytes),
      whole_loan_(loan_bytes),
      allocator_(std::move(allocator)),
      loan_(loan_bytes) {}

DecodedChunkCache::~DecodedChunkCache() { ledger_->release(held_bytes_); }

SampleUse DecodedChunkCache::start_walk() {
  const MutexLock lock(mutex_);
  failed_.clear();
  // The walk starts at the due number that the others have reached, so that no walk is more urgent than another.
  return {latest_due_ + 1, ++walks_};
}

void DecodedChunkCache::drop_changed(const IsCurrent& is_current) {
  const MutexLock lock(mutex_);
  for (auto found = entries_.begin(); found != entries_.end();) {
    Entry& entry = found->second;
    if (!entry.is_ready || entry.holders > 0 || is_current(found->first, entry.version)) {
      ++found;
      continue;
    }
    unrank(entry);
    remove(found++);
  }
}

void DecodedChunkCache::end_walk(std::uint64_t walk) {
  const MutexLock lock(mutex_);
  uses_.forget_walk(walk);
  for (auto& [chunk, entry] : entries_)
    if (entry.is_ready && entry.holders == 0) rank_anew(chunk, entry);
}

std::vector<ChunkId> DecodedChunkCache::plan(const SampleUse& sample, std::span<const ChunkId> chunks) {
  const MutexLock lock(mutex_);
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

std::size_t DecodedChunkCache::planned_uses() const {
  const MutexLock lock(mutex_);
  return uses_.size();
}

void DecodedChunkCache::finish(const SampleUse& sample, std::span<const ChunkId> chunks) {
  const MutexLock lock(mutex_);
  latest_due_ = std::max(latest_due_, sample.due);
  for (const ChunkId& chunk : chunks) {
    if (!uses_.take(sample, chunk)) continue;  // the usual case: claim() has taken the use already
    if (const auto found = entries_.find(chunk);
        found != entries_.end() && found->second.is_ready && found->second.holders == 0)
      rank_anew(chunk, found->second);
  }
  close_one(sample);
}

// ---- samples in the making

void DecodedChunkCache::set_open(std::uint64_t walk, std::uint64_t end) {
  const MutexLock lock(mutex_);
  uses_.set_open(walk, end);
}

OpenSamplePtr DecodedChunkCache::open(const SampleUse& sample, const OpenSamplePtr& made) {
  const MutexLock lock(mutex_);
  if (!made) {
    const auto found = open_.find(sample);
    return found == open_.end() ? nullptr : found->second;
  }
  const auto [entry, is_new] = open_.try_emplace(sample, made);
  if (is_new) made->arrived.clear();  // workers use an OpenSample again for their next sample
  return entry->second;
}

void DecodedChunkCache::close(std::uint64_t walk, std::uint64_t first, std::uint64_t count) {
  const MutexLock lock(mutex_);
  for (std::uint64_t due = first; due < first + count && !open_.empty(); ++due) close_one({due, walk});
}

void DecodedChunkCache::close_one(const SampleUse& sample) {
  const auto found = open_.find(sample);
  if (found == open_.end()) return;
  const OpenSamplePtr closed = found->second;  // keeps its memory until the caller has released the lock
  while (!closed->coming.empty()) changed_.wait(mutex_);
  open_.erase(sample);
}

std::vector<SampleUse> DecodedChunkCache::waiting_for(const ChunkId& chunk) const {
  const MutexLock lock(mutex_);
  return uses_.open(chunk);
}

OpenSamplePtr DecodedChunkCache::begin_handing(const SampleUse& sample, const ChunkId& chunk, OpenSamplePtr made) {
  const MutexLock lock(mutex_);
  auto found = open_.find(sample);
  if (found == open_.end() && !made) return nullptr;
  // If the use is still planned, the sample is not finished yet and may be copied to.
  if (!uses_.take(sample, chunk)) return nullptr;
  if (found == open_.end()) found = open_.emplace(sample, std::move(made)).first;
  found->second->coming.push_back(chunk);
  return found->second;
}

void DecodedChunkCache::end_handing(const SampleUse& sample, const ChunkId& chunk, bool is_there) {
  {
    const MutexLock lock(mutex_);
    OpenSample& open = *open_.at(sample);
    std::erase(open.coming, chunk);
    if (is_there) open.arrived.push_back(chunk);
    ++changes_;
  }
  changed_.notify_all();
}

ChunkClaim::Kind DecodedChunkCache::handed(const SampleUse& sample, const ChunkId& chunk) const {
  if (open_.empty()) return ChunkClaim::Kind::kAlone;
  const auto found = open_.find(sample);
  if (found == open_.end()) return ChunkClaim::Kind::kAlone;
  if (std::ranges::find(found->second->arrived, chunk) != found->second->arrived.end())
    return ChunkClaim::Kind::kThere;
  const auto& coming = found->second->coming;
  return std::ranges::find(coming, chunk) != coming.end() ? ChunkClaim::Kind::kBusy : ChunkClaim::Kind::kAlone;
}

ChunkClaim::Kind DecodedChunkCache::take(const SampleUse& sample, const ChunkId& chunk) {
  const MutexLock lock(mutex_);
  const ChunkClaim::Kind kind = handed(sample, chunk);
  if (kind == ChunkClaim::Kind::kAlone) uses_.take(sample, chunk);
  return kind;
}

// ---- decoded chunks

Result<ChunkClaim> DecodedChunkCache::claim(const SampleUse& sample, const ChunkId& chunk, const ChunkNeed& need) {
  const MutexLock lock(mutex_);
  if (const auto kind = handed(sample, chunk); kind != ChunkClaim::Kind::kAlone) return ChunkClaim{kind, {}, {}};
  if (const auto found = entries_.find(chunk); found != entries_.end()) {
    Entry& entry = found->second;
    if (!entry.is_ready) return ChunkClaim{ChunkClaim::Kind::kBusy, {}, {}};
    uses_.take(sample, chunk);
    if (entry.holders++ == 0) unrank(entry);
    return ChunkClaim{ChunkClaim::Kind::kReady, {entry.memory.data(), entry.memory.size}, {}};
  }
  if (const auto bad = failed_.find(chunk); bad != failed_.end()) return std::unexpected(bad->second);
  // This use is taken first, because only later uses decide whether the chunk is worth caching.
  const bool was_planned = uses_.take(sample, chunk);
  const ChunkClaim alone{ChunkClaim::Kind::kAlone, {}, {}};
  if (need.is_direct && uses_.next(chunk) == ChunkUses::kNever) return alone;
  if (need.bytes > capacity_) return alone;
  ChunkId victim;
  Room room = make_room(need.bytes, Evict::kLaterOnes, uses_.next_not_open(chunk), victim);
  if (room == Room::kNo) {
    // The chunk would be evicted soon. Decoding it for this sample alone is cheaper if it needs few of its bytes.
    if (need.bytes_alone <= need.bytes / (1 + uses_.open(chunk).size())) return alone;
    room = make_room(need.bytes, Evict::kAny, 0, victim);
  }
  if (decoding_bytes_ + need.bytes > capacity_) room = Room::kNo;
  if (room != Room::kYes) {
    if (was_planned) uses_.add(sample, std::span(&chunk, 1));
    if (room == Room::kNo) {
      is_memory_wanted_ = true;
      return ChunkClaim{ChunkClaim::Kind::kBusy, {}, {}};
    }
    return leave(victim);
  }
  Memory memory;
  if (!take_memory(need.bytes, memory)) return alone;
  uses_.note_decoded(chunk, need.bytes);
  Entry& entry = entries_[chunk];
  entry.memory = std::move(memory);
  entry.holders = 1;
  decoding_bytes_ += need.bytes;
  return ChunkClaim{ChunkClaim::Kind::kDecode, {entry.memory.data(), need.bytes}, {}};
}

ChunkClaim DecodedChunkCache::leave(const ChunkId& victim) {
  Entry& entry = entries_.at(victim);
  unrank(entry);
  entry.holders = 1;
  return {ChunkClaim::Kind::kHandOn, {entry.memory.data(), entry.memory.size}, victim};
}

// This ends: chunks that are being decoded fit without the loan, and every other chunk can be evicted as soon as no
// worker holds it.
ChunkClaim DecodedChunkCache::reduce_loan(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  loan_ -= std::min(loan_, bytes);
  while (true) {
    ChunkId victim;
    switch (make_room(0, Evict::kAny, 0, victim)) {
      case Room::kYes: return {ChunkClaim::Kind::kThere, {}, {}};
      case Room::kHandOn: return leave(victim);
      case Room::kNo: break;
    }
    is_memory_wanted_ = true;
    const std::uint64_t seen = changes_;
    while (changes_ == seen) changed_.wait(mutex_);
  }
}

void DecodedChunkCache::restore_loan() {
  {
    const MutexLock lock(mutex_);
    loan_ = whole_loan_;
    if (!is_memory_wanted_) return;
    is_memory_wanted_ = false;
    ++changes_;
  }
  changed_.notify_all();
}

void DecodedChunkCache::evict(const ChunkId& chunk) {
  {
    const MutexLock lock(mutex_);
    const auto found = entries_.find(chunk);
    if (--found->second.holders > 0) return;
    remove(found);
    if (!is_memory_wanted_) return;
    is_memory_wanted_ = false;
    ++changes_;
  }
  changed_.notify_all();
}

void DecodedChunkCache::remove(std::unordered_map<ChunkId, Entry>::iterator entry) {
  if (!entry->second.is_ready) decoding_bytes_ -= entry->second.memory.size;
  recycle_memory(std::move(entry->second.memory));
  entries_.erase(entry);
}

void DecodedChunkCache::publish(const ChunkId& chunk, const ObjectVersion& version) {
  {
    const MutexLock lock(mutex_);
    Entry& entry = entries_.at(chunk);
    entry.version = version;
    entry.is_ready = true;
    decoding_bytes_ -= entry.memory.size;
    ++changes_;
  }
  changed_.notify_all();
}

void DecodedChunkCache::fail(const ChunkId& chunk, const Error& error) {
  {
    const MutexLock lock(mutex_);
    const auto found = entries_.find(chunk);
    if (found != entries_.end()) remove(found);
    // Only damage is remembered. The next sample may try again after a lack of memory, after an error that can be
    // retried, and if the epoch that read the chunk was cancelled.
    const bool is_damage =
        !error.retryable && error.code != ErrorCode::kNoMemory && error.code != ErrorCode::kStopped;
    if (is_damage && failed_.size() < kMaxFailures) failed_.emplace(chunk, error);
    ++changes_;
  }
  changed_.notify_all();
}

void DecodedChunkCache::release(const ChunkId& chunk) {
  {
    const MutexLock lock(mutex_);
    const auto found = entries_.find(chunk);
    if (found == entries_.end()) return;  // fail() removed it
    Entry& entry = found->second;
    if (--entry.holders > 0) return;
    rank_anew(chunk, entry);
    if (!is_memory_wanted_) return;
    is_memory_wanted_ = false;
    ++changes_;
  }
  changed_.notify_all();
}

std::uint64_t DecodedChunkCache::max_bytes_in_use() const {
  const MutexLock lock(mutex_);
  return uses_.max_bytes_in_use();
}

std::uint64_t DecodedChunkCache::changes() const {
  const MutexLock lock(mutex_);
  return changes_;
}

void DecodedChunkCache::wait_for_change(std::uint64_t seen) {
  const MutexLock lock(mutex_);
  while (changes_ == seen) changed_.wait(mutex_);
}

void DecodedChunkCache::rank_anew(const ChunkId& chunk, Entry& entry) {
  unrank(entry);
  entry.rank = {uses_.next_not_open(chunk), ++now_, chunk};
  ranks_.insert(entry.rank);
}

void DecodedChunkCache::unrank(Entry& entry) { ranks_.erase(entry.rank); }

// Batches may have been opened since entries were ranked. Uses by open samples do not count, so entries with such uses
// are ranked again.
void DecodedChunkCache::rank_open_anew() {
  const std::uint64_t end = uses_.open_end();
  std::vector<ChunkId> changed;
  for (auto rank = ranks_.rbegin(); rank != ranks_.rend() && rank->next_use < end; ++rank)
    if (uses_.next_not_open(rank->chunk) != rank->next_use) changed.push_back(rank->chunk);
  for (const ChunkId& chunk : changed) rank_anew(chunk, entries_.at(chunk));
}

// Evicts chunks until this many bytes fit. kLaterOnes evicts only chunks whose next use is later than `next_use`, or
// that have none; kAny evicts any chunk.
DecodedChunkCache::Room DecodedChunkCache::make_room(std::size_t bytes, Evict evict, std::uint64_t next_use, ChunkId& victim) {
  if (spare_.contains(bytes)) return Room::kYes;
  bool is_ranked = false;
  while (held_bytes_ + bytes > capacity_ + loan_) {
    if (drop_spare()) continue;
    if (!is_ranked) rank_open_anew();
    is_ranked = true;
    if (ranks_.empty()) return Room::kNo;
    const Rank worst = *ranks_.begin();
    if (evict == Evict::kLaterOnes && worst.next_use != ChunkUses::kNever && worst.next_use <= next_use)
      return Room::kNo;
    victim = worst.chunk;
    if (!uses_.open(victim).empty()) return Room::kHandOn;
    const auto found = entries_.find(victim);
    unrank(found->second);
    remove(found);
    if (spare_.contains(bytes)) return Room::kYes;
  }
  return Room::kYes;
}

bool DecodedChunkCache::take_memory(std::size_t bytes, Memory& out) {
  if (const auto found = spare_.find(bytes); found != spare_.end()) {
    out = std::move(found->second);
    spare_.erase(found);
    return true;
  }
  if (!ledger_->try_reserve(bytes)) return false;
  out.block = MemoryBlock::allocate(bytes, allocator_);
  if (out.block.size() < bytes) {
    ledger_->release(bytes);
    return false;
  }
  out.size = bytes;
  held_bytes_ += bytes;
  return true;
}

void DecodedChunkCache::recycle_memory(Memory memory) {
  const std::size_t size = memory.size;
  spare_.emplace(size, std::move(memory));
}

bool DecodedChunkCache::drop_spare() {
  if (spare_.empty()) return false;
  const auto first = spare_.begin();
  held_bytes_ -= first->first;
  ledger_->release(first->first);
  spare_.erase(first);
  return true;
}

}  // namespace penstock
