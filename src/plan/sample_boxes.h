// The boxes that a sample reads from chunked arrays, and the memory for their elements.
#pragma once

#include <cstddef>
#include <vector>

#include "penstock/array.h"
#include "penstock/source.h"
#include "plan/chunk_pieces.h"
#include "transform/view.h"

namespace penstock {

// The memory for the elements of a field, with one stride per axis of the sample.
struct ChunkTarget {
  std::size_t field = 0;  // index of the field in the source
  DType dtype = DType::kUInt8;
  int rank = 0;
  ArrayBox::Axes extent{};
  std::byte* memory = nullptr;  // address of the sample's first element
  ArrayBox::Axes stride{};      // in bytes; may be negative
  Affine affine;                // its axis is an axis of the sample
  bool is_in_slot = false;      // the memory is the slot in the batch, so no step follows
};

struct SampleBoxes {
  std::vector<ChunkTarget> targets;
  std::vector<ArrayBox> boxes;
  std::vector<std::size_t> first_box;  // index of the first box, by target

  // Finds the boxes of all targets.
  void find(const Source& source, std::uint64_t sample);
  const ChunkTarget& target_of(const ChunkPiece& piece) const;
};

}  // namespace penstock
