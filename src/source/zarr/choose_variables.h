// Chooses the variables of Zarr stores that samples consist of, and the dimension that counts samples.
#pragma once

#include <string>
#include <vector>

#include "source/zarr/joined_stores.h"
#include "source/zarr/variable.h"

namespace penstock {

// The names of the variables of all stores, without repeats. Sets the sample dimension of `options` to its name.
Result<std::vector<std::string>> choose_names(const std::vector<OpenedStore>& stores, ZarrOptions& options);

// Replaces the number of the sample dimension by its name, if it has one, so that it means the same dimension in
// all variables.
SampleDimension named_dimension(const SampleDimension& given, const ZarrArray& array);

// Checks that every dimension in a selection belongs to a variable and is named once.
Status check_dimensions(const ZarrOptions& options, const std::vector<Variable>& variables,
                        const std::string& uri);

}  // namespace penstock
