// Which positions of an epoch make batch k of one rank.
//
// Global batch g is the next batch_size x world_size positions; ranks take consecutive slices of
// it. Every rank gets the same number of batches: the last, smaller global batch is split evenly,
// and wraps around within itself only where it has fewer samples than there are ranks. Counting
// starts at `start`, so a run that resumes on another number of ranks cuts exactly the remaining
// positions anew. With drop_last it is the remainder of what is left, on the ranks there are then,
// that is dropped. A value; thread-safe.
#pragma once

#include <cstdint>

namespace penstock {

struct PositionRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool padded = false;  // repeats a position that another rank has too
};

struct RankSlice {
  std::uint64_t epoch_size = 0;
  std::uint64_t start = 0;  // positions before it were delivered earlier
  std::uint64_t batch_size = 1;
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  bool drop_last = false;

  std::uint64_t batches() const;
  std::uint64_t samples() const;                    // of all batches
  PositionRange batch(std::uint64_t number) const;  // number < batches()
  // Where the epoch stands, over all ranks, once this many batches were delivered.
  std::uint64_t position_after(std::uint64_t delivered_batches) const;
};

}  // namespace penstock
