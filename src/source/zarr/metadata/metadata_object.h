// Metadata objects: small objects that are read as a whole and may be absent.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "source/records/started_read.h"
#include "source/zarr/metadata/zarr_json.h"
#include "store/store.h"

namespace penstock {

constexpr std::uint64_t kMaxArrayMetadataBytes = std::uint64_t{1} << 20;
// The limit is low because parsed JSON can take twenty times its length.
constexpr std::uint64_t kMaxGroupMetadataBytes = std::uint64_t{32} << 20;

// nullopt: the store reports that the object does not exist. All other failures are errors.
Result<std::optional<Json>> read_metadata_object(const Store& store, const std::string& key,
                                                 std::uint64_t max_bytes);

// Several objects of which some may be absent. A store that handles many reads at a time receives all requests at
// once; other stores are asked on demand. Used by one thread.
class MetadataObjects {
 public:
  struct Wanted {
    std::string key;
    std::uint64_t max_bytes;
  };
  MetadataObjects(const Store& store, std::span<const Wanted> objects);
  MetadataObjects(const MetadataObjects&) = delete;

  // Like read_metadata_object(), for one of the named objects.
  Result<std::optional<Json>> read(const std::string& key) const;

 private:
  const Store& store_;
  std::unordered_map<std::string, std::uint64_t> max_bytes_;
  std::unordered_map<std::string, StartedRead> under_way_;
};

// Whether a name may be part of a key. Names come from files and must not lead out of the hierarchy.
bool is_node_name(std::string_view name);

}  // namespace penstock
