#include "transform/view.h"

#include <algorithm>

namespace penstock {

View view_of_array(const std::byte* data, const ArraySpec& spec, bool fortran_order) {
  View view;
  view.data = data;
  view.dtype = spec.dtype;
  view.rank = static_cast<int>(spec.shape.size());
  std::ranges::copy(spec.shape, view.shape.begin());
  auto step = static_cast<std::int64_t>(size_of(spec.dtype));
  for (int i = 0; i < view.rank; ++i) {
    const auto axis = static_cast<std::size_t>(fortran_order ? i : view.rank - 1 - i);
    view.stride[axis] = step;
    step *= view.shape[axis];
  }
  return view;
}

View view_of_image(const std::byte* data, DType dtype, std::int64_t height, std::int64_t width, int channels,
                   int pixel_items, std::int64_t row_bytes) {
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  View view;
  view.data = data;
  view.dtype = dtype;
  view.is_image = true;
  view.rank = 3;
  view.shape = {height, width, channels};
  view.stride = {row_bytes, pixel_items * item, item};
  return view;
}

void describe_axes(View& view, const ArrayLayout& layout) {
  view.channel_axis = layout.channel_axis;
  view.axes_not_in_space = layout.axes_not_in_space;
}

void keep_axes(View& view, const View& before) {
  view.channel_axis = before.channel_axis;
  view.axes_not_in_space = before.axes_not_in_space;
}

std::vector<int> axes_in_space(const View& view, std::size_t count) {
  if (view.is_image) return {0, 1};
  std::vector<int> axes;
  for (int axis = view.rank; axis-- > 0 && axes.size() < count;)
    if ((view.axes_not_in_space >> axis & 1) == 0) axes.insert(axes.begin(), axis);
  return axes;
}

bool is_c_contiguous(const View& view) {
  auto step = static_cast<std::int64_t>(size_of(view.dtype));
  for (int i = view.rank - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    if (view.shape[axis] != 1 && view.stride[axis] != step) return false;
    step *= view.shape[axis];
  }
  return true;
}

}  // namespace penstock
