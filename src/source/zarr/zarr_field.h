// A field of Zarr samples: one variable, or several that are stacked, at one or several steps.
#pragma once

#include <string>
#include <vector>

#include "source/array_layout.h"
#include "source/zarr/variable.h"

namespace penstock {

constexpr std::int64_t kMaxBoxesOfVariable = 1 << 16;  // that one variable of a sample is cut into

struct ZarrField {
  std::string name;
  std::vector<std::size_t> variables;  // one, or several that are stacked
  std::vector<std::int64_t> steps;     // relative to the sample's own
  bool has_steps = false;              // they are an axis of the field
  bool is_stack = false;
  ArrayLayout layout = {};
};

// The field with its layout: shape, type, and what its axes mean. Fails where variables cannot be stacked, or
// the sample would be too large. `variables` are all those of the source.
Result<ZarrField> make_zarr_field(ZarrField field, const std::vector<Variable>& variables,
                                  const std::string& uri);

}  // namespace penstock
