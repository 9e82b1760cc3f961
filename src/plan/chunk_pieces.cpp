#include "plan/chunk_pieces.h"

#include <algorithm>

#include "base/checked_math.h"

namespace penstock {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

class Cutter {
 public:
  Cutter(const ChunkedArray& array, const ArrayBox& box) : array_(array), box_(box) {
    for (std::size_t d = 0; d < array.grid().size(); ++d) {
      const std::int64_t extent = array.chunk_shape()[d];
      first_chunk_[d] = chunk_[d] = box.origin[d] / extent;
      last_chunk_[d] = (box.origin[d] + (box.count[d] - 1) * box.step[d]) / extent;
    }
  }

  std::uint64_t max_pieces() const {
    std::uint64_t pieces = 1;
    for (std::size_t d = 0; d < array_.grid().size(); ++d) {
      const std::int64_t along = std::min(last_chunk_[d] - first_chunk_[d] + 1, box_.count[d]);
      pieces = checked_multiply(pieces, static_cast<std::uint64_t>(std::max<std::int64_t>(along, 0)))
                   .value_or(UINT64_MAX);
    }
    return pieces;
  }

  void run(std::vector<ChunkPiece>& out) {
    each_chunk([&] { add(out); });
  }

  void list(std::vector<ChunkId>& out) {
    each_chunk([&] { add_chunk(out); });
  }

  void run_at(std::uint64_t chunk, std::vector<ChunkPiece>& out) {
    if (is_empty()) return;
    for (std::size_t d = array_.grid().size(); d-- > 0;) {
      const auto along = static_cast<std::uint64_t>(array_.grid()[d]);
      chunk_[d] = static_cast<std::int64_t>(chunk % along);
      chunk /= along;
      if (chunk_[d] < first_chunk_[d] || chunk_[d] > last_chunk_[d]) return;
    }
    add(out);
  }

 private:
  // Calls `visit` with chunk_ at each chunk between the corners of the box.
  template <typename Visit>
  void each_chunk(const Visit& visit) {
    const std::size_t rank = array_.grid().size();
    if (is_empty()) return;
    while (true) {
      visit();
      std::size_t d = rank;
      while (d-- > 0) {
        if (++chunk_[d] <= last_chunk_[d]) break;
        chunk_[d] = first_chunk_[d];
      }
      if (d == static_cast<std::size_t>(-1)) return;
    }
  }

  bool is_empty() const {
    for (std::size_t d = 0; d < array_.grid().size(); ++d)
      if (box_.count[d] <= 0) return true;
    return false;
  }

  // The elements of the box that lie in the present chunk, along one axis: from `first` to before `end`. None where
  // the step skips the chunk.
  struct Along {
    std::int64_t first, end;
  };
  Along along(std::size_t d) const {
    const std::int64_t extent = array_.chunk_shape()[d], begin = chunk_[d] * extent;
    return {std::max<std::int64_t>(0, ceil_divide(begin - box_.origin[d], box_.step[d])),
            std::min(box_.count[d], ceil_divide(begin + extent - box_.origin[d], box_.step[d]))};
  }
  std::uint64_t number_with(std::uint64_t number, std::size_t d) const {
    return number * static_cast<std::uint64_t>(array_.grid()[d]) + static_cast<std::uint64_t>(chunk_[d]);
  }

  void add_chunk(std::vector<ChunkId>& out) const {
    ChunkId chunk{static_cast<std::uint32_t>(box_.array), 0};
    for (std::size_t d = 0; d < array_.grid().size(); ++d) {
      if (box_.step[d] != 1)
        if (const auto [first, end] = along(d); end <= first) return;
      chunk.number = number_with(chunk.number, d);
    }
    out.push_back(chunk);
  }

  void add(std::vector<ChunkPiece>& out) const {
    ChunkPiece piece;
    piece.chunk.array = static_cast<std::uint32_t>(box_.array);
    piece.box = &box_;
    piece.to = box_.to;
    for (std::size_t d = 0; d < array_.grid().size(); ++d) {
      const auto [first, end] = along(d);
      if (end <= first) return;
      piece.from[d] = box_.origin[d] + first * box_.step[d] - chunk_[d] * array_.chunk_shape()[d];
      piece.count[d] = end - first;
      piece.to += first * box_.to_stride[d];
      piece.chunk.number = number_with(piece.chunk.number, d);
    }
    out.push_back(piece);
  }

  const ChunkedArray& array_;
  const ArrayBox& box_;
  ArrayBox::Axes first_chunk_{}, last_chunk_{}, chunk_{};
};

}  // namespace

std::uint64_t count_pieces(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes) {
  std::uint64_t pieces = 0;
  for (const ArrayBox& box : boxes)
    pieces = checked_add(pieces, Cutter(*arrays[box.array], box).max_pieces()).value_or(UINT64_MAX);
  return pieces;
}

void cut_boxes(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes,
               std::vector<ChunkPiece>& out) {
  for (const ArrayBox& box : boxes) Cutter(*arrays[box.array], box).run(out);
}

void list_chunks(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes,
                 std::vector<ChunkId>& out) {
  for (const ArrayBox& box : boxes) Cutter(*arrays[box.array], box).list(out);
}

// Pieces come in this order from a box, and usually from all boxes of a sample. Sorting them all the same would take
// longer than cutting them did.
void sort_by_chunk(std::vector<ChunkPiece>& pieces) {
  if (!std::ranges::is_sorted(pieces, {}, &ChunkPiece::chunk)) std::ranges::stable_sort(pieces, {}, &ChunkPiece::chunk);
}

void cut_boxes_at(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes, const ChunkId& chunk,
                  std::vector<ChunkPiece>& out) {
  for (const ArrayBox& box : boxes)
    if (box.array == chunk.array) Cutter(*arrays[box.array], box).run_at(chunk.number, out);
}

}  // namespace penstock
