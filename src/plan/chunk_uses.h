// Which of the coming samples use a chunk: what tells a chunk that is wanted soon from one that
// can go.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "plan/chunk_id.h"

namespace penstock {

// Not thread-safe.
class ChunkUses {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  // The sample at this position uses these chunks. Positions rise.
  void add(std::uint64_t position, std::span<const ChunkId> chunks);
  // It has used them, or never will.
  void finish(std::uint64_t position, std::span<const ChunkId> chunks);
  void clear();

  // The first position that has not used it yet.
  std::uint64_t next(const ChunkId& chunk) const;
  // The first one but this.
  std::uint64_t next_beside(const ChunkId& chunk, std::uint64_t position) const;
  std::size_t size() const { return size_; }  // uses, over all chunks

 private:
  std::unordered_map<ChunkId, std::vector<std::uint64_t>> positions_;  // rising
  std::size_t size_ = 0;
};

}  // namespace penstock
