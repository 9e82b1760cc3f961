// A variable of a Zarr group as samples use it: the axis that counts samples, the selected entries of the other
// axes, and the coding of its values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "penstock/source.h"
#include "source/value_coding.h"
#include "source/zarr/select.h"

namespace penstock {

// The part of a variable in one store: its array, and the position of its first entry within the whole sample
// dimension.
struct VariablePart {
  ChunkedArrayPtr data;
  std::int64_t first = 0;
  // nullptr: values are delivered as they are stored. Each store may have its own coding.
  std::shared_ptr<const ValueCoding> coding;

  DType dtype() const { return coding ? coding->dtype : data->spec().dtype; }
};

struct Variable {
  ZarrArray array;  // that of the first store
  std::vector<VariablePart> parts;
  int sample_axis = -1;  // -1: the variable is the same for all samples
  std::vector<Chosen> taken;  // one per axis; for the sample axis, all entries that samples may contain
  bool is_time = false;  // the arrays give int64 nanoseconds since 1970

  // A sample has the axes that no selection dropped, without the sample axis; shape() has their extents.
  bool is_axis_of_sample(std::size_t axis) const {
    return static_cast<int>(axis) != sample_axis && !taken[axis].drops_axis;
  }
  Shape shape() const;
  DType dtype() const;  // holds the values of all parts
  // The part that contains an entry of the sample dimension.
  std::size_t part_of(std::int64_t index) const;
  // The number of entries of the sample dimension up to the end of this part.
  std::int64_t end_of(std::size_t part) const;
};

// Makes a variable from its arrays, which follow one another along the sample dimension and agree in everything
// but the coding. `sample_dim` and the selections use names where dimensions have names. `coordinates` is null for
// an array outside a group. `is_time` says that decode_times() has converted the arrays to int64 nanoseconds.
Result<Variable> make_variable(std::vector<ZarrArray> arrays, bool is_time, Coordinates* coordinates,
                               const ZarrOptions& options, const std::string& uri);

// Replaces the array of stored times by one of int64 nanoseconds since 1970.
Status decode_times(ZarrArray& array);

// The coding by scale_factor, add_offset, _FillValue and missing_value; nullptr if values are delivered as they
// are stored.
//
// Integers of up to 16 bits, and floats of up to 32, become float32, which represents them exactly. Wider integers
// become the type that xarray chooses: float64 if they are masked or scaled by a fraction, and int64 if an integer
// scale_factor is the only attribute. float64 stays float64.
Result<std::shared_ptr<const ValueCoding>> coding_of(const ZarrArray& array, const ZarrOptions& options);

// Whether a variable of a group describes samples instead of being data: it is a time, has the name of a
// dimension, is listed in the `coordinates` attribute of a variable, or holds one integer per sample.
bool is_coordinate_or_label(const Variable& variable, const std::vector<Variable>& all);

}  // namespace penstock
