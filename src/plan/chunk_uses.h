// Which of the coming samples use a chunk: what tells a chunk that is wanted soon from one that
// can go.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "plan/chunk_id.h"

namespace penstock {

// One coming sample. Several epochs may be under way: each walks through its samples by itself, and the
// times at which they are due can be compared between walks.
struct SampleUse {
  SampleUse(std::uint64_t due_, std::uint64_t walk_ = 0) : due(due_), walk(walk_) {}
  std::uint64_t due = 0, walk = 0;
  auto operator<=>(const SampleUse&) const = default;
};

// Not thread-safe.
class ChunkUses {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  // The sample uses these chunks.
  void add(const SampleUse& use, std::span<const ChunkId> chunks);
  // It has used them, or never will.
  void finish(const SampleUse& use, std::span<const ChunkId> chunks);
  // The samples of this walk that are still to come will not.
  void forget_walk(std::uint64_t walk);

  // When the first sample that has not used it yet is due.
  std::uint64_t next(const ChunkId& chunk) const;
  // The first one but this.
  std::uint64_t next_beside(const ChunkId& chunk, const SampleUse& use) const;
  std::size_t size() const { return size_; }  // uses, over all chunks

 private:
  std::unordered_map<ChunkId, std::vector<SampleUse>> uses_;  // rising
  std::size_t size_ = 0;
};

}  // namespace penstock
