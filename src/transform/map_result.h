// Takes the results of the user's functions back into the pipeline.
#pragma once

#include "base/memory/scratch.h"
#include "penstock/transform.h"
#include "transform/view.h"

namespace penstock {

// True for a Map that gets several fields at once, or another field than the one whose step it is.
inline bool is_joint_map(const Transform& step) {
  const Map* map = std::get_if<Map>(&step);
  return map != nullptr && !map->fields.empty();
}

// Counts the result as memory of this sample: the function allocated it, but the worker holds it. Fails where it
// exceeds the scratch budget.
Status charge_map_result(const MapValue& value, Scratch& scratch);

// A view of the result, which borrows the array's memory. A result of shape (height, width, channels) stays an image
// where the value was one before, so that crops and the layout of the batch still apply. An array of the same shape as
// before has the same axes. Fails where the array has too many axes.
Result<View> view_of_map_result(const OwnedArray& array, const View& before);

}  // namespace penstock
