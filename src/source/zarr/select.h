// Which part of a dimension is meant: by index, coordinates or dates.
#pragma once

#include <string>

#include "penstock/arrays.h"
#include "source/zarr/zarr_node.h"

namespace penstock {

// Indexes first, first + step, ... of a dimension.
struct IndexRun {
  std::int64_t first = 0, count = 0, step = 1;
};

struct DimensionOf {
  const std::string& name;
  const std::string& array;  // path below the node
  std::int64_t extent = 0;
};

// Coordinates are read from the array that has the dimension's name: in the group of the array, or in
// one above it. Fails where nothing is left.
Result<IndexRun> select(const Selection& selection, const DimensionOf& dimension, const ZarrNode& node,
                        const std::string& uri);

// The moments that a date may mean: from its beginning to the beginning of the next ("2019-03" is a
// month), in seconds since 1970. ISO 8601, UTC.
struct Moments {
  double begin = 0, end = 0;
};
Result<Moments> parse_date(std::string_view text);

// How CF times are counted: "hours since 1900-01-01 00:00:00".
struct TimeUnits {
  double seconds = 1;  // of one unit
  double since = 0;    // seconds since 1970
};
Result<TimeUnits> parse_time_units(std::string_view text, std::string_view calendar);

}  // namespace penstock
