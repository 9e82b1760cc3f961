// Several Zarr stores that make one source. Stores that hold the same variables follow one another along the sample
// dimension; stores that hold different variables of the same samples are put side by side.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "penstock/source.h"
#include "source/zarr/metadata/zarr_node.h"

namespace penstock {

// A hierarchy that is to be opened, and the store that holds it.
struct NamedStore {
  std::string key;
  std::shared_ptr<const Store> store;
};

struct OpenedStore {
  std::string uri;
  std::shared_ptr<const Store> store;
  ZarrNode node;
};

// Replaces patterns by the stores that they name, in the order given: alternatives in braces as they are written, and
// the matches of a wildcard sorted by name. What exists is never taken for a pattern. Fails where a store is
// named twice, or none is.
Result<std::vector<NamedStore>> expand_stores(const std::vector<std::string>& given, const ZarrOptions& options);

// Opens the metadata of all stores. Fails where some are arrays and others groups.
Result<std::vector<OpenedStore>> open_stores(std::vector<NamedStore> named, const ZarrOptions& options);

// One variable: its array in each store that holds it, in the order of the stores.
struct JoinedArray {
  std::vector<std::size_t> stores;
  std::vector<ZarrArray> arrays;
  bool is_time = false;  // the arrays give int64 nanoseconds since 1970
};

// Finds the variables by name. Fails where no store has one of them, and where a store has none of them.
Result<std::vector<JoinedArray>> find_arrays(const std::vector<OpenedStore>& stores,
                                             const std::vector<std::string>& names);

// Converts every variable that holds times to int64 nanoseconds, from the type and units of each store. Fails where a
// variable holds times in some stores only.
Status decode_joined_times(const std::vector<OpenedStore>& stores, std::vector<JoinedArray>& variables);

using SampleDimension = std::variant<std::string, int>;

// The axis of the array that counts samples; -1: the array does not have the dimension.
int sample_axis_of(const ZarrArray& array, const SampleDimension& sample_dim);

// The name of the array for messages.
std::string name_of_variable(const ZarrArray& array);

// The error for two stores that cannot be one source. Its message names both, because an error has a single location.
std::unexpected<Error> cannot_join(const OpenedStore& first, const OpenedStore& second, std::string message);

}  // namespace penstock
