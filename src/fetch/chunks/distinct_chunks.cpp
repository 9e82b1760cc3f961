#include "fetch/chunks/distinct_chunks.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxBits = std::uint64_t{8} << 20;
constexpr std::uint64_t kBitsPerWord = 64;

std::vector<std::uint64_t> first_chunks(std::span<const ChunkedArrayPtr> arrays) {
  std::vector<std::uint64_t> first{0};
  for (const ChunkedArrayPtr& array : arrays) first.push_back(first.back() + array->chunks());
  return first;
}

}  // namespace

DistinctChunks::DistinctChunks(std::span<const ChunkedArrayPtr> arrays)
    : first_(first_chunks(arrays)),
      every_(first_.back() / kMaxBits + 1),
      seen_(first_.back() / every_ / kBitsPerWord + 1) {}

void DistinctChunks::add(const ChunkId& chunk, std::uint64_t bytes) {
  const std::uint64_t number = first_[chunk.array] + chunk.number;
  if (number % every_ != 0) return;
  const std::uint64_t bit = number / every_, mask = std::uint64_t{1} << (bit % kBitsPerWord);
  if ((seen_[bit / kBitsPerWord].fetch_or(mask, std::memory_order_relaxed) & mask) != 0) return;
  count_.fetch_add(every_, std::memory_order_relaxed);
  bytes_.fetch_add(every_ * bytes, std::memory_order_relaxed);
}

void DistinctChunks::start() {
  for (std::atomic<std::uint64_t>& word : seen_) word.store(0, std::memory_order_relaxed);
}

}  // namespace penstock
