#include "plan/sample_boxes.h"

#include <algorithm>

namespace penstock {

void SampleBoxes::find(const Source& source, std::uint64_t sample) {
  boxes.clear();
  first_box.clear();
  for (const ChunkTarget& target : targets) {
    first_box.push_back(boxes.size());
    source.boxes(sample, target.field, boxes);
  }
}

const ChunkTarget& SampleBoxes::target_of(const ChunkPiece& piece) const {
  const auto box = static_cast<std::size_t>(piece.box - boxes.data());
  const auto after = std::ranges::upper_bound(first_box, box);
  return targets[static_cast<std::size_t>(after - first_box.begin()) - 1];
}

}  // namespace penstock
