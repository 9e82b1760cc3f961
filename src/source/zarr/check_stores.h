// Checks whether several Zarr stores can be one source.
#pragma once

#include <vector>

#include "source/zarr/coordinate.h"
#include "source/zarr/joined_stores.h"

namespace penstock {

// The rules are:
// - The arrays of one variable agree in type, dimensions and all extents but that of the sample dimension.
// - The stores agree in the coordinates of all other dimensions.
// - The coordinate of the sample dimension increases from store to store. Where stores are put side by side, it is the
//   same in all of them.
// - Variables without the sample dimension have the same values in all stores.
// The error names two stores that break a rule.
//
// On success, `coordinates` has the joined coordinate of the sample dimension, and each variable without that dimension
// has a single array.
Status check_stores(const std::vector<OpenedStore>& stores, const SampleDimension& sample_dim,
                    std::vector<JoinedArray>& variables, Coordinates& coordinates);

}  // namespace penstock
