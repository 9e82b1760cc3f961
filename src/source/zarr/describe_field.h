// Describes a field of Zarr samples for writers: its axes, the attributes that fit its values, its coordinates.
#pragma once

#include <memory>
#include <vector>

#include "source/array_description.h"
#include "source/zarr/joined_stores.h"
#include "source/zarr/zarr_field.h"

namespace penstock {

// `variables` are all variables of the source. The description keeps `stores`, from which it reads coordinates when it
// is asked for them.
std::shared_ptr<const ArrayDescription> describe_field(const ZarrField& field, const std::vector<Variable>& variables,
                                                       const std::shared_ptr<const std::vector<OpenedStore>>& stores);

}  // namespace penstock
