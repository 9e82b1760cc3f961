// Converts the results of the user's functions to values of the pipeline.
#pragma once

#include "base/memory/scratch.h"
#include "penstock/transform.h"
#include "transform/view.h"

namespace penstock {

// Returns true for a Map that gets several fields at once, or a field other than the one whose step it is.
inline bool is_joint_map(const Transform& step) {
  const Map* map = std::get_if<Map>(&step);
  return map != nullptr && !map->fields.empty();
}

// Counts the result as memory of this sample, because the worker holds it although the function allocated it. Fails if
// it exceeds the scratch budget.
Status charge_map_result(const MapValue& value, Scratch& scratch);

// Returns a view of the result that borrows the array's memory. A result of shape (height, width, channels) is an image
// if the value was one before, so that crops and the layout of the batch still apply. An array of the same shape as
// before has the same axes. Fails if the array has too many axes.
Result<View> view_of_map_result(const OwnedArray& array, const View& before);

}  // namespace penstock
