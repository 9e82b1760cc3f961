// A field of Zarr samples: one variable, or several stacked variables, at one or several steps.
#pragma once

#include <string>
#include <vector>

#include "source/array_layout.h"
#include "source/zarr/variable.h"

namespace penstock {

constexpr std::int64_t kMaxBoxesOfVariable = 1 << 16;  // the most boxes that one variable of a sample is divided into

struct ZarrField {
  std::string name;
  std::vector<std::size_t> variables;  // one, or several that are stacked
  std::vector<std::int64_t> steps;  // relative to that of the sample
  bool has_steps = false;  // the steps are an axis of the field
  bool is_stack = false;
  ArrayLayout layout = {};
};

// The field with its layout: shape, type and the meaning of its axes. Fails if the variables cannot be stacked or
// a sample would be too large. `variables` are all variables of the source.
Result<ZarrField> make_zarr_field(ZarrField field, const std::vector<Variable>& variables,
                                  const std::string& uri);

}  // namespace penstock
