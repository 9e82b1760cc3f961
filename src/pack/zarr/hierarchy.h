// The objects of a Zarr 3 hierarchy beside its shards: the metadata of arrays and groups, coordinates, and the record of
// the pack.
//
// The record is a file in the destination that has the metadata of all arrays. It is written before the first shard, so
// that a later run, and the other parts, recognise what was begun; and the metadata is made from it when all shards are
// there, without the source.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pack/zarr/packed_array.h"
#include "source/array_description.h"
#include "store/store.h"

namespace penstock {

// The text of the record. Two runs with the same text write the same objects.
std::string describe_pack(const std::string& source_fingerprint, std::span<const PackedArray> arrays,
                          std::span<const CoordinateValues> coordinates);

// Claims the destination: writes the coordinates and then the record, or compares the record with the one that an earlier
// run or another part has written. Fails with kInvalidArgument if the destination has another pack, or another hierarchy.
Status claim_destination(const Store& store, const std::string& root, const std::string& record,
                         std::span<const CoordinateValues> coordinates);

// Fails with kNotFound if nothing was packed here.
Result<std::string> read_record(const Store& store, const std::string& root);

// The sharded arrays of a record, with everything that checking their shards needs.
Result<std::vector<PackedArray>> arrays_of_record(const std::string& record, const std::string& root);

// Writes the metadata of all arrays and groups, and last that of the root, with a copy of all others (consolidated
// metadata). Every object is committed before the next one is begun.
Status write_metadata(const Store& store, const std::string& root, const std::string& record);

}  // namespace penstock
