// The form of a value in the transforms: borrowed memory with a shape and strides.
//
// Why strides: crops, flips and rotations cost nothing, Fortran order and layouts need no separate code, and elements
// are copied once, into the batch. An image is a view of shape (height, width, channels).
// A view borrows its memory and does not know where the memory ends: code that makes a view must keep it within bounds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "penstock/array.h"
#include "penstock/source.h"
#include "source/array_layout.h"

namespace penstock {

constexpr int kMaxRank = 8;

// A pending Normalize: the last copy multiplies and adds, with one scale and bias per index of one axis. The numbers
// are borrowed from the op, which outlives the view.
struct Affine {
  const float* scale = nullptr;  // nullptr: none
  const float* bias = nullptr;
  int axis = -1;  // -1: one scale for all
};

struct View {
  const std::byte* data = nullptr;
  DType dtype = DType::kUInt8;
  bool swap_bytes = false;  // the elements are stored in the other byte order
  bool is_image = false;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> stride{};  // in bytes, may be negative
  Affine affine;
  std::optional<int> channel_axis;     // as in ArrayLayout
  std::uint8_t axes_not_in_space = 0;  // as in ArrayLayout
  int buffer = -1;                     // which scratch buffer holds the memory; -1: none of them

  std::int64_t height() const { return shape[0]; }
  std::int64_t width() const { return shape[1]; }
  std::int64_t channels() const { return shape[2]; }

  Shape shape_vector() const { return {shape.begin(), shape.begin() + rank}; }

  void flip(int axis) {
    data += (shape[static_cast<std::size_t>(axis)] - 1) * stride[static_cast<std::size_t>(axis)];
    stride[static_cast<std::size_t>(axis)] = -stride[static_cast<std::size_t>(axis)];
  }
};

// Returns a view of a C-ordered (or, if requested, Fortran-ordered) array of at most kMaxRank dimensions.
View view_of_array(const std::byte* data, const ArraySpec& spec, bool fortran_order = false);

// Copies to the view what the source knows about the axes of an array.
void describe_axes(View& view, const ArrayLayout& layout);
// Copies to the view what is known about the axes of `before`, which has the same axes.
void keep_axes(View& view, const View& before);

// Returns the last `count` spatial axes, in their order; fewer if the view has fewer. An image always has two: height
// and width.
std::vector<int> axes_in_space(const View& view, std::size_t count);

// Returns a view of an image whose pixels have `channels` bytes or floats and begin `pixel_items` of them apart.
View view_of_image(const std::byte* data, DType dtype, std::int64_t height, std::int64_t width, int channels,
                   int pixel_items, std::int64_t row_bytes);

bool is_c_contiguous(const View& view);

}  // namespace penstock
