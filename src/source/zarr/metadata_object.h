// Objects of metadata: small, read whole, absent or there.
#pragma once

#include <optional>
#include <string>

#include "source/zarr/zarr_json.h"
#include "store/store.h"

namespace penstock {

constexpr std::uint64_t kMostArrayMetadataBytes = std::uint64_t{1} << 20;
// Parsed, JSON can take twenty times its length.
constexpr std::uint64_t kMostGroupMetadataBytes = std::uint64_t{32} << 20;

// Nothing where the store answers that there is no such object; any other failure is one.
Result<std::optional<Json>> read_metadata_object(const Store& store, const std::string& key,
                                                 std::uint64_t most_bytes);

// May a name be part of a key? Names come from files, and must not lead out of the hierarchy.
bool is_node_name(std::string_view name);

}  // namespace penstock
