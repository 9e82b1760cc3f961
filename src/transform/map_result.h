// What the user's functions return, on its way back into the pipeline.
#pragma once

#include "base/memory/scratch.h"
#include "penstock/transform.h"
#include "transform/view.h"

namespace penstock {

// A Map that gets several fields at once, or another field than the one whose step it is.
inline bool is_joint_map(const Transform& step) {
  const Map* map = std::get_if<Map>(&step);
  return map != nullptr && !map->fields.empty();
}

// Counts what was returned as memory of this sample: the function allocated it, the worker keeps it.
Status charge_map_result(const MapValue& value, Scratch& scratch);

// Borrows the array's memory. What is still (height, width, channels) after it was an image stays an image,
// so that crops and the batch's layout go on working. An array of the same shape as before has the same axes.
// Fails where the array has too many axes.
Result<View> view_of_map_result(const OwnedArray& array, const View& before);

}  // namespace penstock
