#include "order/rank_slice.h"

#include <algorithm>

namespace penstock {

std::uint64_t RankSlice::batches() const {
  const std::uint64_t left = epoch_size > start ? epoch_size - start : 0;
  const std::uint64_t global = batch_size * world_size;
  return drop_last ? left / global : (left + global - 1) / global;
}

std::uint64_t RankSlice::samples() const {
  const std::uint64_t count = batches();
  return count == 0 ? 0 : (count - 1) * batch_size + batch(count - 1).count;
}

PositionRange RankSlice::batch(std::uint64_t number) const {
  const std::uint64_t global = batch_size * world_size;
  const std::uint64_t begin = start + number * global;
  const std::uint64_t size = std::min(global, epoch_size - begin);
  if (size < world_size && rank >= size) return {begin + rank % size, 1, true};
  if (size < world_size) return {begin + rank, 1, false};
  const std::uint64_t from = size * rank / world_size, to = size * (rank + 1) / world_size;
  return {begin + from, to - from, false};
}

std::uint64_t RankSlice::position_after(std::uint64_t delivered_batches) const {
  // Positions that drop_last drops count as delivered.
  if (delivered_batches >= batches()) return epoch_size;
  return start + delivered_batches * batch_size * world_size;
}

}  // namespace penstock
