// A set of elements of a large array, with fast answers about boxes: how many elements of a box are in
// the set, and which is the n-th of them.
//
// Random patches are drawn from such sets: labels that are not 0, voxels of one class, places with enough
// foreground. The array is divided into blocks of 4096 elements. A block has a count, and one bit per
// element only where it is neither empty nor full; label volumes have few such blocks.
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

// What the sets of one source may take together. Thread-safe.
class SetMemory {
 public:
  explicit SetMemory(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  Status take(std::uint64_t bytes, const std::string& uri);
  void give_back(std::uint64_t bytes) { used_bytes_ -= bytes; }

 private:
  std::atomic<std::uint64_t> used_bytes_{0};
  std::uint64_t limit_bytes_;
};

// Movable. Thread-safe once it is built.
class VoxelSet {
 public:
  static constexpr std::size_t kBlockElements = 4096;
  // Always three axes: arrays with fewer have axes of one entry in front.
  using Axes = std::array<std::int64_t, 3>;
  using Mask = std::array<std::uint64_t, kBlockElements / 64>;  // in C order of elements of a whole block
  struct Box {
    Axes begin, end;
  };

  // An empty set of elements of an array of 1 to 3 axes. `uri` is for messages.
  static Result<VoxelSet> make_empty(const Shape& shape, SetMemory& memory, const std::string& uri);

  // How many elements of the box are in the set, for a box of `size` from `origin` on with one entry per
  // axis of the array. Elements outside the array are not in the set.
  std::uint64_t count(std::span<const std::int64_t> origin, std::span<const std::int64_t> size) const;
  // Element `number` of those that count() counts, in some fixed order; `number` is less than that count.
  Shape nth(std::span<const std::int64_t> origin, std::span<const std::int64_t> size,
            std::uint64_t number) const;
  std::uint64_t total() const;
  std::uint64_t bytes() const;

  // Adds `sign` to sums[y * width + x] for each element (plane, first_row + y, first_column + x) of the set.
  void add_plane(std::int64_t plane, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                 std::int64_t width, int sign, std::uint32_t* sums) const;

  // Building. Elements of the block at a place are added; no two threads may add to one block at a time.
  Status add(const Axes& block, const Mask& bits, SetMemory& memory, const std::string& uri);
  // Keeps what is in both sets, which must be of arrays of the same shape.
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
