// How much of a box is foreground: elements of a label array that are not 0, counted exactly.
//
// Patches are drawn so that a share of them has something in it; that means asking about many boxes.
// The array is read once. It is kept as blocks of 4096 elements: a count for each, and one bit an
// element only for blocks that are neither empty nor full, of which labels have few.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "source/chunked_array.h"

namespace penstock {

struct ForegroundOptions {
  int axes = 3;     // the last ones, 1 to 3: those of a patch; axes before them have one entry
  int threads = 4;  // that read and decode
  std::uint64_t working_bytes = std::uint64_t{512} << 20;  // for chunks while they are counted
  std::uint64_t map_bytes = std::uint64_t{4} << 30;        // for the result
  // Now and then, on the thread that called: so many of all chunks are done. False stops (kStopped).
  std::function<bool(std::uint64_t done, std::uint64_t all)> progress = {};
};

// Immutable, movable; thread-safe. Holds nothing of the array.
class ForegroundMap {
 public:
  // Chunks that are missing have the fill value. Numbers only; -0.0 is 0, and NaN is not.
  static Result<ForegroundMap> make(const ChunkedArray& labels, const ForegroundOptions& options);

  // In the box of this size from `origin` on, an entry for each axis of the map; what lies outside the
  // array counts as 0.
  std::uint64_t count(std::span<const std::int64_t> origin, std::span<const std::int64_t> size) const;
  std::uint64_t total() const { return total_; }

 private:
  friend class ForegroundBuilder;
  static constexpr std::size_t kBlockElements = 4096;
  using Axes = std::array<std::int64_t, 3>;
  using Mask = std::array<std::uint64_t, kBlockElements / 64>;
  struct Box {
    Axes begin, end;
  };

  ForegroundMap() = default;

  // Which elements the block at a place has, cut at the end of the array.
  Box block_box(const Axes& place) const;
  std::size_t block_at(const Axes& place) const;
  std::uint64_t count_in_block(const Axes& place, const Box& box) const;

  int axes_ = 3;
  // As three axes, with ones in front where there are fewer.
  Axes shape_{}, block_shape_{}, blocks_{};
  std::vector<std::uint16_t> counts_;
  std::vector<std::unique_ptr<Mask>> masks_;  // in C order of elements within a whole block
  std::uint64_t total_ = 0;
};

}  // namespace penstock
