// The objects of a Zarr 3 hierarchy beside its shards: the metadata of arrays and groups, coordinates, and the record by
// which a later run recognises what an earlier one began.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pack/zarr/packed_array.h"
#include "source/array_description.h"
#include "store/store.h"

namespace penstock {

// Describes the source and all arrays. Two runs with the same text write the same shards.
std::string describe_pack(const std::string& source_fingerprint, std::span<const PackedArray> arrays);

// Claims the destination: writes the record, or compares it with the one that an earlier run or another part has
// written. Fails with kInvalidArgument if the destination has another pack, or another Zarr hierarchy.
Status claim_destination(const Store& store, const std::string& root, const std::string& record);
// Fails if there is no record of this pack.
Status check_destination(const Store& store, const std::string& root, const std::string& record);

// Writes coordinates, then the metadata of arrays and groups, and last that of the root, with a copy of all others
// (consolidated metadata). Every object is committed before the next one is begun.
Status write_hierarchy(const Store& store, const std::string& root, std::span<const PackedArray> arrays,
                       std::span<const CoordinateValues> coordinates);

}  // namespace penstock
