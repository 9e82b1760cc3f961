#include "plan/chunk_uses.h"

#include <algorithm>

namespace penstock {

void ChunkUses::add(const SampleUse& use, std::span<const ChunkId> chunks) {
  for (const ChunkId& chunk : chunks) {
    std::vector<SampleUse>& uses = uses_[chunk];
    // At the end, unless another walk looks further ahead.
    uses.insert(std::ranges::upper_bound(uses, use), use);
  }
  size_ += chunks.size();
}

void ChunkUses::finish(const SampleUse& use, std::span<const ChunkId> chunks) {
  for (const ChunkId& chunk : chunks) {
    const auto found = uses_.find(chunk);
    if (found == uses_.end()) continue;
    std::vector<SampleUse>& uses = found->second;
    // Near the front: samples are finished almost in order.
    if (const auto at = std::ranges::find(uses, use); at != uses.end()) {
      uses.erase(at);
      --size_;
    }
    if (uses.empty()) uses_.erase(found);
  }
}

void ChunkUses::forget_walk(std::uint64_t walk) {
  for (auto entry = uses_.begin(); entry != uses_.end();) {
    size_ -= std::erase_if(entry->second, [&](const SampleUse& use) { return use.walk == walk; });
    entry = entry->second.empty() ? uses_.erase(entry) : std::next(entry);
  }
}

std::uint64_t ChunkUses::next(const ChunkId& chunk) const {
  const auto found = uses_.find(chunk);
  return found == uses_.end() ? kNever : found->second.front().due;
}

std::uint64_t ChunkUses::next_beside(const ChunkId& chunk, const SampleUse& use) const {
  const auto found = uses_.find(chunk);
  if (found == uses_.end()) return kNever;
  const auto other = std::ranges::find_if(found->second, [&](const SampleUse& each) { return each != use; });
  return other == found->second.end() ? kNever : other->due;
}

}  // namespace penstock
