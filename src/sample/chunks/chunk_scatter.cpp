#include "sample/chunks/chunk_scatter.h"

#include <cstdlib>

namespace penstock {

ChunkScatter::Stretch ChunkScatter::stretch_of(const ChunkPiece& piece) const {
  const ChunkedArray& array = *arrays_[piece.chunk.array];
  const Shape strides = array.chunk_strides(piece.chunk.number);
  const std::size_t item = size_of(array.spec().dtype);
  std::int64_t first = 0, last = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    first += piece.from[d] * strides[d];
    last += (piece.from[d] + (piece.count[d] - 1) * piece.box->step[d]) * strides[d];
  }
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last - first) + item};
}

Result<std::uint64_t> ChunkScatter::copy(const SampleBoxes& boxes, std::span<const ChunkPiece> pieces,
                                         ConstBytes chunk, std::size_t first_byte) const {
  std::uint64_t bytes = 0;
  for (const ChunkPiece& piece : pieces) {
    std::size_t from = 0;
    ScatterCopy copy = copy_of(piece, boxes.target_of(piece), from);
    copy.from = chunk.data() + (from - first_byte);
    PENSTOCK_CHECK(scatter(copy));
    std::uint64_t elements = 1;
    for (int d = 0; d < copy.rank; ++d)
      elements *= static_cast<std::uint64_t>(copy.count[static_cast<std::size_t>(d)]);
    bytes += elements * size_of(copy.to_type);
  }
  return bytes;
}

ScatterCopy ChunkScatter::copy_of(const ChunkPiece& piece, const ChunkTarget& target,
                                  std::size_t& from_byte) const {
  const ChunkedArray& array = *arrays_[piece.chunk.array];
  const Shape strides = array.chunk_strides(piece.chunk.number);
  ScatterCopy copy;
  copy.rank = static_cast<int>(strides.size());
  copy.count = piece.count;
  copy.from_type = array.spec().dtype;
  copy.swap_bytes = array.swap_bytes();
  copy.to_type = target.dtype;
  copy.coding = piece.box->coding;
  // The position of the first element in the sample, one number per axis.
  ArrayBox::Axes packed{};  // strides of the sample, in elements
  std::int64_t elements = 1;
  for (auto a = static_cast<std::size_t>(target.rank); a-- > 0;) {
    packed[a] = elements;
    elements *= target.extent[a];
  }
  copy.to = target.memory;
  copy.affine = target.affine;
  copy.affine.axis = -1;
  // A box with a negative stride is written forwards from its end, so that Normalize sees its axis in the usual order.
  std::int64_t rest = piece.to;
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (piece.box->to_stride[d] < 0) rest += (piece.count[d] - 1) * piece.box->to_stride[d];
  for (std::size_t a = 0; a < static_cast<std::size_t>(target.rank); ++a) {
    const std::int64_t index = rest / packed[a];
    rest %= packed[a];
    copy.to += index * target.stride[a];
    if (target.affine.scale != nullptr && target.affine.axis == static_cast<int>(a)) {
      copy.affine.scale += index;
      copy.affine.bias += index;
    }
  }
  std::int64_t from = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    from += piece.from[d] * strides[d];
    copy.from_stride[d] = piece.box->step[d] * strides[d];
    if (piece.count[d] == 1) continue;
    if (piece.box->to_stride[d] < 0) {
      from += (piece.count[d] - 1) * copy.from_stride[d];
      copy.from_stride[d] = -copy.from_stride[d];
    }
    // An axis of the box corresponds to the axis of the sample that has the same stride and more than one element.
    for (std::size_t a = 0; a < static_cast<std::size_t>(target.rank); ++a)
      if (packed[a] == std::abs(piece.box->to_stride[d]) && target.extent[a] > 1) {
        copy.to_stride[d] = target.stride[a];
        if (target.affine.scale != nullptr && target.affine.axis == static_cast<int>(a))
          copy.affine.axis = static_cast<int>(d);
      }
  }
  from_byte = static_cast<std::size_t>(from);
  return copy;
}

MutableBytes ChunkScatter::direct_target(const SampleBoxes& boxes, std::span<const ChunkPiece> pieces) const {
  if (pieces.size() != 1) return {};
  const ChunkPiece& piece = pieces.front();
  const ChunkTarget& target = boxes.target_of(piece);
  const ChunkedArray& array = *arrays_[piece.chunk.array];
  if (array.swap_bytes() || array.spec().dtype != target.dtype || piece.box->coding != nullptr ||
      target.affine.scale != nullptr)
    return {};
  const std::size_t bytes = array.chunk_bytes(piece.chunk.number);
  std::size_t from = 0;
  const ScatterCopy copy = copy_of(piece, target, from);
  std::size_t covered = size_of(target.dtype);
  for (int d = 0; d < copy.rank; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    covered *= static_cast<std::size_t>(copy.count[axis]);
    if (copy.count[axis] > 1 && copy.from_stride[axis] != copy.to_stride[axis]) return {};
  }
  if (covered != bytes) return {};
  return {copy.to, bytes};
}

}  // namespace penstock
