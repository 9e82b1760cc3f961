// The boxes that a sample takes from chunked arrays, and where their elements go.
#pragma once

#include <cstddef>
#include <vector>

#include "penstock/array.h"
#include "penstock/source.h"
#include "plan/chunk_pieces.h"
#include "transform/view.h"

namespace penstock {

// Where the elements of a field go: memory seen through the axes of the sample.
struct ChunkTarget {
  std::size_t field = 0;  // of the source
  DType dtype = DType::kUInt8;
  int rank = 0;
  ArrayBox::Axes extent{};
  std::byte* memory = nullptr;  // of the sample's first element
  ArrayBox::Axes stride{};      // bytes, may be negative
  Affine affine;                // axis counts those of the sample
  bool is_in_slot = false;      // nothing is left to do once all elements are there
};

struct SampleBoxes {
  std::vector<ChunkTarget> targets;
  std::vector<ArrayBox> boxes;
  std::vector<std::size_t> first_box;  // of each target

  // The boxes of the targets.
  void find(const Source& source, std::uint64_t sample);
  const ChunkTarget& target_of(const ChunkPiece& piece) const;
};

}  // namespace penstock
