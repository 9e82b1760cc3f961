// Reads a label array chunk by chunk and enters it into a ForegroundMap.
#pragma once

#include <atomic>
#include <mutex>

#include "base/scratch.h"
#include "source/foreground.h"

namespace penstock {

class ForegroundBuilder {
 public:
  // Borrows both.
  ForegroundBuilder(const ChunkedArray& labels, const ForegroundOptions& options)
      : labels_(labels),
        options_(options) {}

  Result<ForegroundMap> run();

 private:
  using Axes = ForegroundMap::Axes;
  using Mask = ForegroundMap::Mask;
  using Box = ForegroundMap::Box;

  Status prepare();
  // Until there are no more, or somebody failed.
  void work(ScratchBudget& budget, bool tells_progress);
  Status read_chunk(std::uint64_t chunk, Scratch& scratch, CodecWorker& worker);
  Result<ConstBytes> elements_of(std::uint64_t chunk, Scratch& scratch, CodecWorker& worker);
  Box chunk_box(std::uint64_t chunk) const;
  // The foreground that a chunk has of the block at a place. Chunks do not overlap.
  Status enter(const Axes& place, const Mask& bits);
  void stop_with(Error error);

  const ChunkedArray& labels_;
  const ForegroundOptions& options_;
  ForegroundMap map_;
  std::uint64_t counting_bits_ = 0;  // of an element, that are 0 where it is no foreground

  std::atomic<std::uint64_t> next_{0}, done_{0}, map_bytes_{0};
  std::atomic<bool> stop_{false};
  std::mutex error_mutex_;
  std::optional<Error> error_;
  // Chunks of several threads may meet in a block.
  std::array<std::mutex, 64> block_mutexes_;
};

}  // namespace penstock
