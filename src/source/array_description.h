// What a source knows about the arrays of a field beyond their type and shape: names of axes, attributes, coordinates.
// Writers keep it; loaders do not need it.
//
// A plain value, immutable once the source is open. The functions read from the store on the thread that calls them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

// The values of a coordinate, and the attributes that say what they mean.
struct CoordinateValues {
  std::string name;
  DType dtype = DType::kInt64;
  std::vector<std::byte> values;  // in the byte order of this machine
  std::string attributes = "{}";  // a JSON object

  std::size_t count() const { return values.size() / size_of(dtype); }
};

struct ArrayDescription {
  std::vector<std::string> dimensions;  // one per axis of a sample; "": the axis has no name
  std::string sample_dimension;         // "": it has no name
  std::string attributes = "{}";        // a JSON object that fits the values as they are delivered
  bool is_decoded = false;              // the values differ from those that are stored

  // Reads the coordinate of the sample dimension, of which sample i has entry std::stoull(key(i)); nullopt: there is
  // none. Empty if samples are not entries of a dimension.
  std::function<Result<std::optional<CoordinateValues>>()> read_sample_coordinate = {};
  // Reads the coordinates of the other axes, as far as there are any.
  std::function<Result<std::vector<CoordinateValues>>()> read_coordinates = {};
};

}  // namespace penstock
