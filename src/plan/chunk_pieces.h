// Cuts the boxes of a sample at the boundaries of chunks.
#pragma once

#include <span>
#include <vector>

#include "penstock/source.h"
#include "plan/chunk_id.h"
#include "source/array_box.h"
#include "source/chunked_array.h"

namespace penstock {

// The part of a box that lies in one chunk: `count` elements along each axis, beginning at element `from` of
// the chunk, at the distance of the box's step. The first one goes to element `to` of the sample.
struct ChunkPiece {
  ChunkId chunk;
  const ArrayBox* box = nullptr;
  ArrayBox::Axes from{}, count{};
  std::int64_t to = 0;
};

// An upper bound for the number of pieces.
std::uint64_t count_pieces(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes);

// Appends all pieces; those of one chunk need not be consecutive. `boxes` must outlive the pieces.
void cut_boxes(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes,
               std::vector<ChunkPiece>& out);

// Appends the chunk of each of these pieces, which takes a fraction of the time.
void list_chunks(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes,
                 std::vector<ChunkId>& out);

// Brings the pieces of one chunk together, in ascending order of chunks. Those of a chunk keep their order.
void sort_by_chunk(std::vector<ChunkPiece>& pieces);

// The same as cut_boxes() for the pieces of one chunk.
void cut_boxes_at(std::span<const ChunkedArrayPtr> arrays, std::span<const ArrayBox> boxes, const ChunkId& chunk,
                  std::vector<ChunkPiece>& out);

}  // namespace penstock
