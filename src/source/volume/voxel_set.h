// A set of elements of a large array that quickly answers how many elements of a box are in the set, and which is
// the n-th of them.
//
// Random patches are drawn from such sets: labels other than 0, voxels of one class, positions with enough
// foreground. The array is divided into blocks of 4096 elements. A block has a count, and one bit per element only
// if it is neither empty nor full; label volumes have few such blocks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

// The memory that all sets of one source may use together. Thread-safe.
class SetMemory {
 public:
  explicit SetMemory(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  Status take(std::uint64_t bytes, const std::string& uri);
  void give_back(std::uint64_t bytes) { used_bytes_ -= bytes; }

 private:
  std::atomic<std::uint64_t> used_bytes_{0};
  std::uint64_t limit_bytes_;
};

// Movable. While it is built, one thread may use it, or several threads that change different blocks. Afterwards it
// does not change and is thread-safe.
class VoxelSet {
 public:
  static constexpr std::size_t kBlockElements = 4096;
  // Always three axes: arrays with fewer axes get leading axes with one entry.
  using Axes = std::array<std::int64_t, 3>;
  using Mask = std::array<std::uint64_t, kBlockElements / 64>;  // one bit per element of a block, in C order
  struct Box {
    Axes begin, end;
  };

  // An empty set for an array of 1 to 3 axes. `uri` is for messages.
  static Result<VoxelSet> make_empty(const Shape& shape, SetMemory& memory, const std::string& uri);

  // The number of elements of the set in the box of `size` at `origin`, which have one entry per axis of the
  // array. Elements outside the array are not in the set.
  std::uint64_t count(std::span<const std::int64_t> origin, std::span<const std::int64_t> size) const;
  // Element `number` of those that count() counts, in a fixed order. `number` must be less than that count.
  Shape nth(std::span<const std::int64_t> origin, std::span<const std::int64_t> size,
            std::uint64_t number) const;
  std::uint64_t total() const;
  std::uint64_t bytes() const;

  // Adds `sign` to sums[y * width + x] for each element (plane, first_row + y, first_column + x) of the set.
  void add_plane(std::int64_t plane, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                 std::int64_t width, int sign, std::uint32_t* sums) const;

  // Building the set: adds elements to one block. Two threads must not add to the same block at the same time.
  Status add(const Axes& block, const Mask& bits, SetMemory& memory, const std::string& uri);
  // Removes the elements that are not in the other set, whose array must have the same shape.
  Status intersect(const VoxelSet& other, SetMemory& memory, const std::string& uri);

  const Axes& block_shape() const { return block_shape_; }
  const Axes& blocks() const { return blocks_; }
  // The elements of a block, cut at the end of the array.
  Box block_box(const Axes& block) const;
  std::size_t block_number(const Axes& block) const;
  static Axes padded(std::span<const std::int64_t> axes, std::int64_t with);

 private:
  VoxelSet() = default;

  Box clipped(std::span<const std::int64_t> origin, std::span<const std::int64_t> size) const;
  std::uint64_t count_in_block(const Axes& block, const Box& box) const;
  Mask bits_of(const Axes& block) const;

  std::size_t axes_ = 3;
  Axes shape_{}, block_shape_{}, blocks_{};
  std::vector<std::uint16_t> counts_;
  std::vector<std::unique_ptr<Mask>> masks_;
};

}  // namespace penstock
