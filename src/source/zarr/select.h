// Finds the entries of a dimension that a selection means: by coordinate, as xarray's `sel` does, or by position.
// Thread-safe.
#pragma once

#include <string>

#include "penstock/source.h"
#include "source/zarr/coordinate.h"
#include "source/zarr/index_runs.h"

namespace penstock {

struct Chosen {
  IndexRuns entries;        // at least one
  bool drops_axis = false;  // a single entry was selected by its value or position
};

// Both fail with a message that names the dimension and `uri`.
Result<Chosen> select_by_value(const Selection& selection, const Coordinate& coordinate,
                               const std::string& dimension, const std::string& uri);
Result<Chosen> select_by_position(const Positions& positions, std::int64_t extent,
                                  const std::string& dimension, const std::string& uri);

}  // namespace penstock
