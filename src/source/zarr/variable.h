// A variable of a Zarr group as a sample sees it: which axis counts samples, what is taken of the
// others, and what its numbers mean.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "penstock/arrays.h"
#include "source/value_coding.h"
#include "source/zarr/select.h"

namespace penstock {

// What one store has of a variable: its array, and where it begins among all entries of the sample dimension.
struct VariablePart {
  ChunkedArrayPtr data;
  std::int64_t first = 0;
  // nullptr: values are as they are stored. Stores may have a coding each.
  std::shared_ptr<const ValueCoding> coding;

  DType dtype() const { return coding ? coding->dtype : data->spec().dtype; }
};

struct Variable {
  ZarrArray array;  // of the first store
  std::vector<VariablePart> parts;
  int sample_axis = -1;       // -1: the same for all samples
  std::vector<Chosen> taken;  // of each axis; of the sample axis: all that samples are made of
  bool is_time = false;  // the arrays give int64 nanoseconds since 1970

  // What a sample has of it: the axes other than the sample axis that no selection dropped.
  bool is_axis_of_sample(std::size_t axis) const {
    return static_cast<int>(axis) != sample_axis && !taken[axis].drops_axis;
  }
  Shape shape() const;
  DType dtype() const;  // that holds the values of all parts
  // The part that an entry of the sample dimension is in.
  std::size_t part_of(std::int64_t index) const;
  // How many entries the sample dimension has in all parts up to this one, itself included.
  std::int64_t end_of(std::size_t part) const;
};

// `sample_dim` and the selections by name where dimensions have names. `coordinates` is null where the array
// stands alone.
//
// Several arrays follow one another along the sample dimension; they agree in everything else but the coding.
// `is_time`: decode_times() made int64 nanoseconds of them.
Result<Variable> make_variable(std::vector<ZarrArray> arrays, bool is_time, Coordinates* coordinates,
                               const ZarrOptions& options, const std::string& uri);

// Replaces the array of stored times by one of int64 nanoseconds since 1970.
Status decode_times(ZarrArray& array);

// scale_factor, add_offset, _FillValue and missing_value; nothing where values are as they are stored.
//
// Integers of up to 16 bits, and floats of up to 32, become float32, which holds them exactly. Wider integers
// become what xarray makes of them: float64 where they are masked, or scaled by a number with a fraction;
// int64 where an integer scale_factor is all there is. float64 stays float64.
Result<std::shared_ptr<const ValueCoding>> coding_of(const ZarrArray& array, const ZarrOptions& options);

// Whether the variable of a group says where samples are, or what they are, instead of being data: it is a time,
// has the name of a dimension, is named by the `coordinates` of a variable, or holds one integer per sample.
bool is_coordinate_or_label(const Variable& variable, const std::vector<Variable>& all);

}  // namespace penstock
