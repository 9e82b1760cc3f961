// Texts about the axes of a value, for error messages of transforms that flip and rotate arrays.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "transform/view.h"

namespace penstock {

// Returns ", of which axes [0] count channels or steps"; empty if all axes are spatial.
inline std::string describe_other_axes(const View& view) {
  if (view.is_image) return ", an image";
  std::vector<int> others;
  for (int axis = 0; axis < view.rank; ++axis)
    if ((view.axes_not_in_space >> axis & 1) != 0) others.push_back(axis);
  return others.empty() ? "" : fmt::format(", of which axes {} count channels or steps", others);
}

}  // namespace penstock
