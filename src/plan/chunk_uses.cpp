#include "plan/chunk_uses.h"

#include <algorithm>

namespace penstock {

void ChunkUses::add(std::uint64_t position, std::span<const ChunkId> chunks) {
  for (const ChunkId& chunk : chunks) positions_[chunk].push_back(position);
  size_ += chunks.size();
}

void ChunkUses::finish(std::uint64_t position, std::span<const ChunkId> chunks) {
  for (const ChunkId& chunk : chunks) {
    const auto found = positions_.find(chunk);
    if (found == positions_.end()) continue;
    std::vector<std::uint64_t>& positions = found->second;
    // Near the front: samples are finished almost in order.
    if (const auto at = std::ranges::find(positions, position); at != positions.end()) {
      positions.erase(at);
      --size_;
    }
    if (positions.empty()) positions_.erase(found);
  }
}

void ChunkUses::clear() {
  positions_.clear();
  size_ = 0;
}

std::uint64_t ChunkUses::next(const ChunkId& chunk) const {
  const auto found = positions_.find(chunk);
  return found == positions_.end() ? kNever : found->second.front();
}

std::uint64_t ChunkUses::next_beside(const ChunkId& chunk, std::uint64_t position) const {
  const auto found = positions_.find(chunk);
  if (found == positions_.end()) return kNever;
  const auto other =
      std::ranges::find_if(found->second, [&](std::uint64_t candidate) { return candidate != position; });
  return other == found->second.end() ? kNever : *other;
}

}  // namespace penstock
