// Tells which positions of an epoch form batch k of one rank.
//
// Global batch g consists of the next batch_size x world_size positions, of which each rank takes a
// consecutive slice. All ranks have the same number of batches: the last global batch may be smaller and is
// split evenly; if it has fewer samples than there are ranks, it is repeated until every rank has one.
// Counting starts at `start`, so a run that resumes with another number of ranks divides exactly the
// remaining positions. drop_last then drops the remainder of those positions. A plain value.
#pragma once

#include <cstdint>

namespace penstock {

struct PositionRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool padded = false;  // the positions are those of another rank, too
};

struct RankSlice {
  std::uint64_t epoch_size = 0;
  std::uint64_t start = 0;  // positions before it were delivered before the run was resumed
  std::uint64_t batch_size = 1;
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  bool drop_last = false;

  std::uint64_t batches() const;
  std::uint64_t samples() const;                    // in all batches of this rank
  PositionRange batch(std::uint64_t number) const;  // number < batches()
  // The position of the epoch, over all ranks, after this many batches.
  std::uint64_t position_after(std::uint64_t delivered_batches) const;
};

}  // namespace penstock
