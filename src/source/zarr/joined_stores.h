// Several Zarr stores that make one source. Stores that hold the same variables follow one another along the
// sample dimension; stores that hold different variables of the same samples are put side by side.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "penstock/arrays.h"
#include "source/zarr/coordinate.h"
#include "source/zarr/metadata/zarr_node.h"

namespace penstock {

struct OpenedStore {
  std::string uri;
  std::shared_ptr<const Store> store;
  ZarrNode node;
};

// The paths and URLs that are meant, in the order given: braces in the order in which they are written, and what
// a wildcard matches sorted by name. A path that exists means itself, whatever characters it has.
Result<std::vector<std::string>> expand_stores(const std::vector<std::string>& given);

Result<std::vector<OpenedStore>> open_stores(const std::vector<std::string>& uris, const ZarrOptions& options);

// A variable: its array in each store that holds it, in the order of the stores.
struct JoinedArray {
  std::vector<std::size_t> stores;
  std::vector<ZarrArray> arrays;
  bool is_time = false;  // the arrays give int64 nanoseconds since 1970
};

// The variable of each name. Fails where no store has it, and where a store has none of them.
Result<std::vector<JoinedArray>> find_arrays(const std::vector<OpenedStore>& stores,
                                             const std::vector<std::string>& names);

// Makes int64 nanoseconds of every variable that holds times, in the type and units of each store. Fails where a
// variable holds times in some stores only.
Status decode_joined_times(const std::vector<OpenedStore>& stores, std::vector<JoinedArray>& variables);

using SampleDimension = std::variant<std::string, int>;

// Do the stores go together? Arrays of one variable must agree in type, dimensions and all extents but that of
// the sample dimension, stores in the coordinates of the other dimensions, and the coordinate of the sample
// dimension must increase from store to store; where stores are put side by side, it must be the same. Variables
// without the sample dimension must have the same values. The error names the two stores.
//
// Afterwards `coordinates` has the coordinate of the whole sample dimension, and each variable without that
// dimension one array.
Status check_stores(const std::vector<OpenedStore>& stores, const SampleDimension& sample_dim,
                    std::vector<JoinedArray>& variables, Coordinates& coordinates);

// -1: the array does not have the dimension.
int sample_axis_of(const ZarrArray& array, const SampleDimension& sample_dim);

}  // namespace penstock
