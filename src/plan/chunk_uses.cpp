#include "plan/chunk_uses.h"

#include <algorithm>

namespace penstock {

// Samples use a chunk almost in the order in which they are due. So the few uses before this one are moved,
// not the many after it.
bool ChunkUses::UsesOfChunk::remove(const SampleUse& use) {
  const auto begin = uses.begin() + static_cast<std::ptrdiff_t>(first);
  const auto at = std::lower_bound(begin, uses.end(), use);
  if (at == uses.end() || *at != use) return false;
  std::move_backward(begin, at, at + 1);
  ++first;
  if (first > 64 && first > uses.size() / 2) {
    uses.erase(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(first));
    first = 0;
  }
  return true;
}

ChunkUses::Entries::iterator ChunkUses::drop_if_empty(Entries::iterator entry) {
  if (!entry->second.left().empty()) return std::next(entry);
  in_use_ -= entry->second.bytes_in_use;
  return uses_.erase(entry);
}

void ChunkUses::add(const SampleUse& use, std::span<const ChunkId> chunks) {
  for (const ChunkId& chunk : chunks) {
    UsesOfChunk& of = uses_[chunk];
    // The use goes to the end, unless another walk looks further ahead.
    const auto begin = of.uses.begin() + static_cast<std::ptrdiff_t>(of.first);
    of.uses.insert(std::upper_bound(begin, of.uses.end(), use), use);
  }
  size_ += chunks.size();
}

bool ChunkUses::take(const SampleUse& use, const ChunkId& chunk) {
  const auto found = uses_.find(chunk);
  if (found == uses_.end() || !found->second.remove(use)) return false;
  --size_;
  drop_if_empty(found);
  return true;
}

void ChunkUses::finish(const SampleUse& use, std::span<const ChunkId> chunks) {
  for (const ChunkId& chunk : chunks) take(use, chunk);
}

void ChunkUses::forget_walk(std::uint64_t walk) {
  for (auto entry = uses_.begin(); entry != uses_.end();) {
    UsesOfChunk& of = entry->second;
    of.uses.erase(of.uses.begin(), of.uses.begin() + static_cast<std::ptrdiff_t>(of.first));
    of.first = 0;
    size_ -= std::erase_if(of.uses, [&](const SampleUse& use) { return use.walk == walk; });
    entry = drop_if_empty(entry);
  }
  open_.erase(walk);
}

void ChunkUses::set_open(std::uint64_t walk, std::uint64_t end) { open_[walk] = end; }

bool ChunkUses::is_open(const SampleUse& use) const {
  const auto end = open_.find(use.walk);
  return end != open_.end() && use.due < end->second;
}

std::uint64_t ChunkUses::next(const ChunkId& chunk) const {
  const auto found = uses_.find(chunk);
  return found == uses_.end() ? kNever : found->second.left().front().due;
}

std::uint64_t ChunkUses::next_not_open(const ChunkId& chunk) const {
  const auto found = uses_.find(chunk);
  if (found == uses_.end()) return kNever;
  for (const SampleUse& use : found->second.left())
    if (!is_open(use)) return use.due;
  return kNever;
}

std::vector<SampleUse> ChunkUses::open(const ChunkId& chunk) const {
  std::vector<SampleUse> open;
  const auto found = uses_.find(chunk);
  if (found == uses_.end()) return open;
  const std::uint64_t end = open_end();
  for (const SampleUse& use : found->second.left()) {
    if (use.due >= end) break;
    if (is_open(use)) open.push_back(use);
  }
  return open;
}

std::uint64_t ChunkUses::open_end() const {
  std::uint64_t end = 0;
  for (const auto& [walk, end_of_walk] : open_) end = std::max(end, end_of_walk);
  return end;
}

void ChunkUses::note_decoded(const ChunkId& chunk, std::uint64_t bytes) {
  const auto found = uses_.find(chunk);
  if (found == uses_.end()) {  // no use is planned: it is in use only now
    max_in_use_ = std::max(max_in_use_, in_use_ + bytes);
    return;
  }
  if (found->second.bytes_in_use == 0) {
    found->second.bytes_in_use = bytes;
    in_use_ += bytes;
  }
  max_in_use_ = std::max(max_in_use_, in_use_);
}

}  // namespace penstock
