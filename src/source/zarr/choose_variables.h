// Which variables of Zarr stores make samples, along which dimension.
#pragma once

#include <string>
#include <vector>

#include "source/zarr/joined_stores.h"
#include "source/zarr/variable.h"

namespace penstock {

// The variables of all stores, each named once. Sets the sample dimension of `options` to its name.
Result<std::vector<std::string>> choose_names(const std::vector<OpenedStore>& stores, ZarrOptions& options);

// A number means the same dimension for all variables, where it has a name.
SampleDimension named_dimension(const SampleDimension& given, const ZarrArray& array);

// Every dimension that is selected from is one of a variable, and is named once.
Status check_dimensions(const ZarrOptions& options, const std::vector<Variable>& variables,
                        const std::string& uri);

}  // namespace penstock
