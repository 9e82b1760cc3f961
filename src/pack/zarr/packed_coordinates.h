// The coordinates that are written beside the arrays of a hierarchy.
#pragma once

#include <vector>

#include "pack/zarr/pack_plan.h"
#include "source/array_description.h"

namespace penstock {

// The coordinates of the axes of all arrays, for the samples and entries that are packed. One that has the name of a
// packed array is left out. Reads them from the source.
Result<std::vector<CoordinateValues>> coordinates_of(const Source& source, const PackPlan& plan);

}  // namespace penstock
