#include "source/foreground.h"

#include <algorithm>
#include <bit>

#include "source/foreground_builder.h"

namespace penstock {
namespace {

// Sets the bits from `begin` on, up to `end`, of the words at `words`.
void set_bits(std::uint64_t* words, std::int64_t begin, std::int64_t end) {
  while (begin < end) {
    const std::int64_t in_word = begin % 64, bits = std::min(64 - in_word, end - begin);
    words[begin / 64] |= ~std::uint64_t{0} >> (64 - bits) << in_word;
    begin += bits;
  }
}

}  // namespace

Result<ForegroundMap> ForegroundMap::make(const ChunkedArray& labels, const ForegroundOptions& options) {
  return ForegroundBuilder(labels, options).run();
}

ForegroundMap::Box ForegroundMap::block_box(const Axes& place) const {
  Box box{};
  for (std::size_t d = 0; d < 3; ++d) {
    box.begin[d] = place[d] * block_shape_[d];
    box.end[d] = std::min(shape_[d], box.begin[d] + block_shape_[d]);
  }
  return box;
}

std::size_t ForegroundMap::block_at(const Axes& place) const {
  return static_cast<std::size_t>((place[0] * blocks_[1] + place[1]) * blocks_[2] + place[2]);
}

std::uint64_t ForegroundMap::count_in_block(const Axes& place, const Box& box) const {
  const std::size_t block = block_at(place);
  const std::uint64_t all = counts_[block];
  if (all == 0) return 0;
  const Box whole = block_box(place);
  Axes begin, end;
  bool covered = true;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    begin[d] = std::max(box.begin[d], whole.begin[d]) - whole.begin[d];
    end[d] = std::min(box.end[d], whole.end[d]) - whole.begin[d];
    covered = covered && begin[d] == 0 && end[d] == whole.end[d] - whole.begin[d];
    elements *= end[d] - begin[d];
  }
  if (covered) return all;
  if (!masks_[block]) return static_cast<std::uint64_t>(elements);  // full
  // What is wanted is the same in every plane of the block.
  Mask wanted{};
  for (std::int64_t j = begin[1]; j < end[1]; ++j)
    set_bits(wanted.data(), j * block_shape_[2] + begin[2], j * block_shape_[2] + end[2]);
  const auto plane_words = static_cast<std::size_t>(block_shape_[1] * block_shape_[2] / 64);
  std::uint64_t count = 0;
  for (std::int64_t i = begin[0]; i < end[0]; ++i) {
    const std::uint64_t* plane = masks_[block]->data() + static_cast<std::size_t>(i) * plane_words;
    for (std::size_t word = 0; word < plane_words; ++word)
      count += static_cast<std::uint64_t>(std::popcount(plane[word] & wanted[word]));
  }
  return count;
}

std::uint64_t ForegroundMap::count(std::span<const std::int64_t> origin,
                                   std::span<const std::int64_t> size) const {
  Box box{{0, 0, 0}, shape_};
  const auto axes = static_cast<std::size_t>(axes_);
  for (std::size_t i = 0; i < axes && i < origin.size() && i < size.size(); ++i) {
    const std::size_t d = 3 - axes + i;
    box.begin[d] = std::clamp<std::int64_t>(origin[i], 0, shape_[d]);
    // Also where the sum does not fit.
    std::int64_t end = 0;
    if (__builtin_add_overflow(origin[i], std::max<std::int64_t>(size[i], 0), &end)) end = shape_[d];
    box.end[d] = std::min(end, shape_[d]);
    if (box.begin[d] >= box.end[d]) return 0;
  }
  Axes first{}, last{};
  for (std::size_t d = 0; d < 3; ++d) {
    if (box.begin[d] >= box.end[d]) return 0;
    first[d] = box.begin[d] / block_shape_[d];
    last[d] = (box.end[d] - 1) / block_shape_[d];
  }
  std::uint64_t count = 0;
  for (Axes at = first; at[0] <= last[0]; ++at[0])
    for (at[1] = first[1]; at[1] <= last[1]; ++at[1])
      for (at[2] = first[2]; at[2] <= last[2]; ++at[2]) count += count_in_block(at, box);
  return count;
}

}  // namespace penstock
