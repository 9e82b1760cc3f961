// Counts the distinct chunks that each epoch decodes; the counts of all epochs are added up.
//
// It has one bit per chunk, in at most 1 MiB. For sources with more chunks than that has bits, it samples every n-th
// chunk and counts it n times. Thread-safe and lock-free. Where epochs overlap, the counts are approximate: a chunk of
// one epoch is counted again if start() of another runs between two of its uses.
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

  // `bytes` is the size of the whole decoded chunk.
  void add(const ChunkId& chunk, std::uint64_t bytes);
  // Called when an epoch begins: chunks that it decodes are counted again.
  void start();

  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::vector<std::uint64_t> first_;  // by array: the number of its first chunk among all
  std::uint64_t every_ = 1;           // every how many chunks one is sampled
  std::vector<std::atomic<std::uint64_t>> seen_;
  std::atomic<std::uint64_t> count_{0}, bytes_{0};
};

}  // namespace penstock
