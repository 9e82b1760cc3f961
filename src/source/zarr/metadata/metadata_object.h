// Objects of metadata: small, read whole, absent or there.
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
// Parsed, JSON can take twenty times its length.
constexpr std::uint64_t kMaxGroupMetadataBytes = std::uint64_t{32} << 20;

// Nothing where the store answers that there is no such object; any other failure is one.
Result<std::optional<Json>> read_metadata_object(const Store& store, const std::string& key,
                                                 std::uint64_t max_bytes);

// Several objects of which one does not know which are there. A store that answers many reads at a time
// is asked for all at once; others are asked when somebody wants to know.
class MetadataObjects {
 public:
  struct Wanted {
    std::string key;
    std::uint64_t max_bytes;
  };
  MetadataObjects(const Store& store, std::span<const Wanted> objects);
  MetadataObjects(const MetadataObjects&) = delete;

  // As read_metadata_object, of an object that was named.
  Result<std::optional<Json>> read(const std::string& key) const;

 private:
  const Store& store_;
  std::unordered_map<std::string, std::uint64_t> max_bytes_;
  std::unordered_map<std::string, StartedRead> under_way_;
};

// May a name be part of a key? Names come from files, and must not lead out of the hierarchy.
bool is_node_name(std::string_view name);

}  // namespace penstock
