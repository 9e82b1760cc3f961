// Divides a view of any strides into pieces of few elements, so that memory does not grow with the sample.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transform/view.h"

namespace penstock {

inline View without_axis(View view, std::size_t axis) {
  std::shift_left(view.shape.begin() + static_cast<std::ptrdiff_t>(axis), view.shape.end(), 1);
  std::shift_left(view.stride.begin() + static_cast<std::ptrdiff_t>(axis), view.stride.end(), 1);
  --view.rank;
  return view;
}

// Calls use(piece, number of its elements) for pieces that together are the view; never if the view is empty.
template <typename Use>
void for_each_piece(const View& view, std::int64_t max_elements, Use use) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(view.rank); ++axis) count *= view.shape[axis];
  if (count == 0) return;
  if (count <= max_elements) return use(view, count);
  if (view.shape[0] == 1) return for_each_piece(without_axis(view, 0), max_elements, use);
  View first = view, second = view;
  first.shape[0] = view.shape[0] / 2;
  second.shape[0] = view.shape[0] - first.shape[0];
  second.data += first.shape[0] * view.stride[0];
  for_each_piece(first, max_elements, use);
  for_each_piece(second, max_elements, use);
}

}  // namespace penstock
