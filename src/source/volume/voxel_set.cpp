#include "source/volume/voxel_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/checked_math.h"

namespace penstock {
namespace {

constexpr std::uint64_t kBytesPerBlock =
    sizeof(std::uint16_t) + sizeof(std::unique_ptr<VoxelSet::Mask>);

bool is_empty(const VoxelSet::Box& box) {
  for (std::size_t d = 0; d < 3; ++d)
    if (box.begin[d] >= box.end[d]) return true;
  return false;
}

VoxelSet::Box overlap(const VoxelSet::Box& a, const VoxelSet::Box& b) {
  VoxelSet::Box both{};
  for (std::size_t d = 0; d < 3; ++d) {
    both.begin[d] = std::max(a.begin[d], b.begin[d]);
    both.end[d] = std::min(a.end[d], b.end[d]);
  }
  return both;
}

std::int64_t elements_of(const VoxelSet::Box& box) {
  return (box.end[0] - box.begin[0]) * (box.end[1] - box.begin[1]) * (box.end[2] - box.begin[2]);
}

// Sets the bits from `begin` to before `end` in `words`.
void set_bits(std::uint64_t* words, std::int64_t begin, std::int64_t end) {
  while (begin < end) {
    const std::int64_t in_word = begin % 64, bits = std::min(64 - in_word, end - begin);
    words[begin / 64] |= ~std::uint64_t{0} >> (64 - bits) << in_word;
    begin += bits;
  }
}

// The bits of a block whose elements lie in the part. The part is relative to the first element of the block.
VoxelSet::Mask bits_in(const VoxelSet::Axes& block_shape, const VoxelSet::Box& part) {
  VoxelSet::Mask bits{};
  for (std::int64_t i = part.begin[0]; i < part.end[0]; ++i)
    for (std::int64_t j = part.begin[1]; j < part.end[1]; ++j) {
      const std::int64_t row = (i * block_shape[1] + j) * block_shape[2];
      set_bits(bits.data(), row + part.begin[2], row + part.end[2]);
    }
  return bits;
}

// Calls visit(block) for each block that the box touches, in C order, until it returns false.
template <typename Visit>
void for_each_block(const VoxelSet::Box& box, const VoxelSet::Axes& block_shape, const Visit& visit) {
  VoxelSet::Axes first{}, last{};
  for (std::size_t d = 0; d < 3; ++d) {
    first[d] = box.begin[d] / block_shape[d];
    last[d] = (box.end[d] - 1) / block_shape[d];
  }
  for (VoxelSet::Axes at = first; at[0] <= last[0]; ++at[0])
    for (at[1] = first[1]; at[1] <= last[1]; ++at[1])
      for (at[2] = first[2]; at[2] <= last[2]; ++at[2])
        if (!visit(at)) return;
}

}  // namespace

Status SetMemory::take(std::uint64_t bytes, const std::string& uri) {
  if ((used_bytes_ += bytes) <= limit_bytes_) return {};
  return fail(ErrorCode::kTooLarge,
              fmt::format("the index of voxels to draw patches from takes more than {} bytes (half of memory=, and "
                          "at most 4 GiB)",
                          limit_bytes_),
              {uri, -1, -1, -1});
}

VoxelSet::Axes VoxelSet::padded(std::span<const std::int64_t> axes, std::int64_t with) {
  Axes all{with, with, with};
  std::ranges::copy(axes, all.end() - std::ssize(axes));
  return all;
}

Result<VoxelSet> VoxelSet::make_empty(const Shape& shape, SetMemory& memory, const std::string& uri) {
  if (shape.empty() || shape.size() > 3)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("labels and masks of patches of {} axes; 1 to 3 are possible", shape.size()),
                {uri, -1, -1, -1});
  constexpr Axes kBlockShapes[] = {{1, 1, 4096}, {1, 64, 64}, {16, 16, 16}};
  VoxelSet set;
  set.axes_ = shape.size();
  set.block_shape_ = kBlockShapes[set.axes_ - 1];
  set.shape_ = padded(shape, 1);
  std::uint64_t blocks = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    set.blocks_[d] = set.shape_[d] / set.block_shape_[d] + (set.shape_[d] % set.block_shape_[d] != 0);
    blocks = checked_multiply(blocks, static_cast<std::uint64_t>(set.blocks_[d])).value_or(UINT64_MAX / 16);
  }
  PENSTOCK_CHECK(memory.take(std::min(blocks, UINT64_MAX / 64) * kBytesPerBlock, uri));
  set.counts_.resize(blocks);
  set.masks_.resize(blocks);
  return set;
}

std::uint64_t VoxelSet::total() const {
  std::uint64_t total = 0;
  for (const std::uint16_t count : counts_) total += count;
  return total;
}

std::uint64_t VoxelSet::bytes() const {
  return counts_.size() * kBytesPerBlock +
         sizeof(Mask) * static_cast<std::uint64_t>(std::ranges::count_if(
                            masks_, [](const std::unique_ptr<Mask>& mask) { return mask != nullptr; }));
}

VoxelSet::Box VoxelSet::block_box(const Axes& block) const {
  Box box{};
  for (std::size_t d = 0; d < 3; ++d) {
    box.begin[d] = block[d] * block_shape_[d];
    box.end[d] = std::min(shape_[d], box.begin[d] + block_shape_[d]);
  }
  return box;
}

std::size_t VoxelSet::block_number(const Axes& block) const {
  return static_cast<std::size_t>((block[0] * blocks_[1] + block[1]) * blocks_[2] + block[2]);
}

VoxelSet::Box VoxelSet::clipped(std::span<const std::int64_t> origin,
                                std::span<const std::int64_t> size) const {
  Box box{{0, 0, 0}, shape_};
  for (std::size_t i = 0; i < axes_ && i < origin.size() && i < size.size(); ++i) {
    const std::size_t d = 3 - axes_ + i;
    box.begin[d] = std::clamp<std::int64_t>(origin[i], 0, shape_[d]);
    // A box whose end overflows reaches to the end of the array.
    std::int64_t end = 0;
    if (__builtin_add_overflow(origin[i], std::max<std::int64_t>(size[i], 0), &end)) end = shape_[d];
    box.end[d] = std::min(end, shape_[d]);
  }
  return box;
}

std::uint64_t VoxelSet::count_in_block(const Axes& block, const Box& box) const {
  const std::size_t number = block_number(block);
  const std::uint64_t all = counts_[number];
  if (all == 0) return 0;
  const Box whole = block_box(block);
  Box part = overlap(box, whole);
  const std::int64_t elements = elements_of(part);
  if (elements == elements_of(whole)) return all;
  if (!masks_[number]) return static_cast<std::uint64_t>(elements);  // the block is full
  for (std::size_t d = 0; d < 3; ++d) {
    part.begin[d] -= whole.begin[d];
    part.end[d] -= whole.begin[d];
  }
  // The selected bits are the same in every plane of the block.
  Mask wanted{};
  for (std::int64_t j = part.begin[1]; j < part.end[1]; ++j)
    set_bits(wanted.data(), j * block_shape_[2] + part.begin[2], j * block_shape_[2] + part.end[2]);
  const auto plane_words = static_cast<std::size_t>(block_shape_[1] * block_shape_[2] / 64);
  std::uint64_t count = 0;
  for (std::int64_t i = part.begin[0]; i < part.end[0]; ++i) {
    const std::uint64_t* plane = masks_[number]->data() + static_cast<std::size_t>(i) * plane_words;
    for (std::size_t word = 0; word < plane_words; ++word)
      count += static_cast<std::uint64_t>(std::popcount(plane[word] & wanted[word]));
  }
  return count;
}

std::uint64_t VoxelSet::count(std::span<const std::int64_t> origin,
                              std::span<const std::int64_t> size) const {
  const Box box = clipped(origin, size);
  if (is_empty(box)) return 0;
  std::uint64_t count = 0;
  for_each_block(box, block_shape_, [&](const Axes& block) {
    count += count_in_block(block, box);
    return true;
  });
  return count;
}

VoxelSet::Mask VoxelSet::bits_of(const Axes& block) const {
  const std::size_t number = block_number(block);
  if (masks_[number]) return *masks_[number];
  if (counts_[number] == 0) return Mask{};
  const Box whole = block_box(block);
  Box part{{0, 0, 0}, {}};
  for (std::size_t d = 0; d < 3; ++d) part.end[d] = whole.end[d] - whole.begin[d];
  return bits_in(block_shape_, part);
}

Shape VoxelSet::nth(std::span<const std::int64_t> origin, std::span<const std::int64_t> size,
                    std::uint64_t number) const {
  const Box box = clipped(origin, size);
  Shape found(axes_, 0);
  if (is_empty(box)) return found;
  for_each_block(box, block_shape_, [&](const Axes& block) {
    const std::uint64_t here = count_in_block(block, box);
    if (number >= here) {
      number -= here;
      return true;
    }
    const Box whole = block_box(block);
    Box part = overlap(box, whole);
    for (std::size_t d = 0; d < 3; ++d) {
      part.begin[d] -= whole.begin[d];
      part.end[d] -= whole.begin[d];
    }
    const Mask mine = bits_of(block), wanted = bits_in(block_shape_, part);
    for (std::size_t word = 0; word < mine.size(); ++word) {
      std::uint64_t bits = mine[word] & wanted[word];
      const auto in_word = static_cast<std::uint64_t>(std::popcount(bits));
      if (number >= in_word) {
        number -= in_word;
        continue;
      }
      for (; number > 0; --number) bits &= bits - 1;
      const auto element = static_cast<std::int64_t>(word * 64) + std::countr_zero(bits);
      const Axes at = {whole.begin[0] + element / (block_shape_[1] * block_shape_[2]),
                       whole.begin[1] + element / block_shape_[2] % block_shape_[1],
                       whole.begin[2] + element % block_shape_[2]};
      std::ranges::copy(at.end() - static_cast<std::ptrdiff_t>(axes_), at.end(), found.begin());
      return false;
    }
    return false;
  });
  return found;
}

void VoxelSet::add_plane(std::int64_t plane, std::int64_t first_row, std::int64_t rows,
                         std::int64_t first_column, std::int64_t width, int sign,
                         std::uint32_t* sums) const {
  const Box wanted{{plane, first_row, first_column}, {plane + 1, first_row + rows, first_column + width}};
  const Box box = overlap(wanted, {{0, 0, 0}, shape_});
  if (is_empty(box)) return;
  const auto step = static_cast<std::uint32_t>(sign);
  for_each_block(box, block_shape_, [&](const Axes& block) {
    const std::size_t number = block_number(block);
    if (counts_[number] == 0) return true;
    const Box whole = block_box(block), part = overlap(box, whole);
    const Mask* mask = masks_[number].get();
    for (std::int64_t row = part.begin[1]; row < part.end[1]; ++row) {
      std::uint32_t* out = sums + (row - first_row) * width - first_column;
      const std::int64_t first_bit =
          ((plane - whole.begin[0]) * block_shape_[1] + row - whole.begin[1]) * block_shape_[2] -
          whole.begin[2];
      for (std::int64_t column = part.begin[2]; column < part.end[2]; ++column) {
        const auto bit = static_cast<std::uint64_t>(first_bit + column);
        const bool is_in = mask == nullptr || ((*mask)[bit / 64] >> bit % 64 & 1) != 0;
        out[column] += is_in ? step : 0;
      }
    }
    return true;
  });
}

Status VoxelSet::add(const Axes& block, const Mask& bits, SetMemory& memory, const std::string& uri) {
  int count = 0;
  for (const std::uint64_t word : bits) count += std::popcount(word);
  if (count == 0) return {};
  const std::size_t number = block_number(block);
  auto& mask = masks_[number];
  counts_[number] = static_cast<std::uint16_t>(counts_[number] + count);
  if (counts_[number] == elements_of(block_box(block))) {
    if (mask) memory.give_back(sizeof(Mask));
    mask.reset();
    return {};
  }
  if (!mask) {
    PENSTOCK_CHECK(memory.take(sizeof(Mask), uri));
    mask = std::make_unique<Mask>(Mask{});
  }
  for (std::size_t i = 0; i < bits.size(); ++i) (*mask)[i] |= bits[i];
  return {};
}

Status VoxelSet::intersect(const VoxelSet& other, SetMemory& memory, const std::string& uri) {
  const auto drop = [&](std::size_t number) {
    if (masks_[number]) memory.give_back(sizeof(Mask));
    masks_[number].reset();
    counts_[number] = 0;
  };
  for (Axes at{}; at[0] < blocks_[0]; ++at[0])
    for (at[1] = 0; at[1] < blocks_[1]; ++at[1])
      for (at[2] = 0; at[2] < blocks_[2]; ++at[2]) {
        const std::size_t number = block_number(at);
        const bool other_is_full = other.counts_[number] == elements_of(block_box(at));
        if (counts_[number] == 0 || other_is_full) continue;
        Mask both = bits_of(at);
        const Mask theirs = other.bits_of(at);
        for (std::size_t i = 0; i < both.size(); ++i) both[i] &= theirs[i];
        drop(number);
        PENSTOCK_CHECK(add(at, both, memory, uri));
      }
  return {};
}

}  // namespace penstock
