// Copies the pieces of a decoded chunk to their places in the sample, in one pass that also swaps bytes, applies CF
// scales and Normalize, and flips and rotates.
//
// Immutable; thread-safe. The arrays are borrowed.
#pragma once

#include <span>

#include "plan/chunk_pieces.h"
#include "plan/sample_boxes.h"
#include "source/chunked_array.h"
#include "transform/scatter.h"

namespace penstock {

class ChunkScatter {
 public:
  explicit ChunkScatter(std::span<const ChunkedArrayPtr> arrays) : arrays_(arrays) {}

  // `chunk` has the bytes of the decoded chunk from `first_byte` on. Returns the number of bytes written.
  Result<std::uint64_t> copy(const SampleBoxes& boxes, std::span<const ChunkPiece> pieces, ConstBytes chunk,
                             std::size_t first_byte) const;

  // Returns the memory that the whole chunk may be decoded into; empty if its elements must be copied.
  MutableBytes direct_target(const SampleBoxes& boxes, std::span<const ChunkPiece> pieces) const;

  // The elements that a piece touches: from the first to the last byte, in the order of the chunk.
  struct Stretch {
    std::size_t first_byte, bytes;
  };
  Stretch stretch_of(const ChunkPiece& piece) const;

 private:
  // Describes the copy of a piece, without its first source address, which is byte `from_byte` of the decoded chunk.
  ScatterCopy copy_of(const ChunkPiece& piece, const ChunkTarget& target, std::size_t& from_byte) const;

  const std::span<const ChunkedArrayPtr> arrays_;
};

}  // namespace penstock
