// Counts the different chunks that were decoded, each once however often it was.
//
// One bit per chunk, in at most 1 MiB: of sources with more chunks than that has bits, every n-th chunk is
// counted and stands for n. Thread-safe, but for start().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/chunk_id.h"
#include "source/chunked_array.h"

namespace penstock {

class DistinctChunks {
 public:
  explicit DistinctChunks(std::span<const ChunkedArrayPtr> arrays);

  // `bytes`: of the whole chunk.
  void add(const ChunkId& chunk, std::uint64_t bytes);
  // An epoch begins: chunks that it decodes count again.
  void start();

  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::vector<std::uint64_t> first_;  // by array: the number of its first chunk among all
  std::uint64_t every_ = 1;           // chunk that is counted
  std::vector<std::atomic<std::uint64_t>> seen_;
  std::atomic<std::uint64_t> count_{0}, bytes_{0};
};

}  // namespace penstock
