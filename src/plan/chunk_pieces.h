// Cuts the boxes of a sample at the borders of chunks.
#pragma once

#include <span>
#include <vector>

#include "penstock/source.h"
#include "plan/chunk_id.h"
#include "source/array_box.h"
#include "source/chunked_array.h"

namespace penstock {

// What one chunk gives to one box: `count` elements along each axis, from `from` in the chunk, as far
// apart as the box's step; the first goes to element `to` of the sample.
struct ChunkPiece {
  ChunkId chunk;
  const ArrayBox* box = nullptr;
  ArrayBox::Axes from{}, count{};
  std::int64_t to = 0;
};

// How many pieces there are at most.
std::uint64_t count_pieces(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes);

// Pieces of the same chunk need not stand together. `boxes` must outlive the pieces.
void cut_boxes(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes,
               std::vector<ChunkPiece>& out);

// Those of one chunk only.
void cut_boxes_at(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes, const ChunkId& chunk,
                  std::vector<ChunkPiece>& out);

}  // namespace penstock
