// A Zarr hierarchy of version 2 or 3: arrays and groups, opened from their metadata.
//
// Opening reads no chunk. Metadata is not trusted: every number is checked before it is used, and unknown codecs,
// types and chunk grids are errors that name them.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "penstock/source.h"
#include "source/chunked_array.h"
#include "source/zarr/metadata/metadata_object.h"

namespace penstock {

struct ZarrArray {
  std::string name;  // path below the opened node; empty: the node is the array
  ChunkedArrayPtr data;
  std::vector<std::string> dimensions;  // v3 dimension_names or v2 _ARRAY_DIMENSIONS; empty: unnamed
  nlohmann::json attributes = nlohmann::json::object();
  std::optional<std::string> time_unit;  // of NumPy datetime64 or timedelta64, which become int64: "ns"
  bool is_duration = false;              // timedelta64
  std::optional<double> fill_value;  // v2 only, if it is a number: xarray stores _FillValue there
  std::uint64_t stored_bytes = 0;  // if unknown, the decoded size as an upper bound
};

// Empty if the array has no such attribute, or one that is not text.
std::string text_attribute(const ZarrArray& array, const char* name);

struct ZarrOpenOptions {
  MissingChunk missing = MissingChunk::kFillIfGone;
};

// The array or group at a uri. The arrays below a group are known from consolidated metadata, else from listing,
// if the store can list, else only by name. Immutable after opening and thread-safe.
class ZarrNode {
 public:
  static Result<ZarrNode> open(std::shared_ptr<const Store> store, const std::string& uri,
                               const ZarrOpenOptions& options);

  bool is_array() const;
  int version() const;  // 2 or 3
  // The names of the arrays, sorted; empty for an array, or if they cannot be listed.
  const std::vector<std::string>& arrays() const;
  // Opens an array; "" is the node itself. If there is no such array, the error suggests the nearest name.
  Result<ZarrArray> array(const std::string& name) const;
  // Whether the type of the array is supported, even if the array cannot be read for other reasons.
  Result<bool> has_readable_type(const std::string& name) const;

 private:
  // The parsed metadata of an array below this node, or of the node itself ("").
  struct Metadata {
    nlohmann::json array;       // .zarray or zarr.json
    nlohmann::json attributes;  // v2: .zattrs
  };

  ZarrNode() = default;
  std::string uri_of(const std::string& name) const;
  std::string metadata_key(const std::string& name) const;
  Status open_v3(nlohmann::json zarr_json);
  Status open_v2_group(const MetadataObjects& objects);
  Status list_arrays();
  Result<Metadata> read_metadata(const std::string& name, const MetadataObjects& objects) const;
  Result<Metadata> metadata_of(const std::string& name) const;
  Error no_such_array(const std::string& name) const;

  std::shared_ptr<const Store> store_, chunk_store_;  // the second one is for chunks only
  std::string uri_;
  ZarrOpenOptions options_;
  int version_ = 0;
  bool is_array_ = false;
  std::vector<std::string> names_;
  std::map<std::string, Metadata> metadata_;  // consolidated, or that of this array
};

// Whether there is Zarr metadata at this uri: zarr.json, .zarray, .zgroup or .zmetadata.
Result<bool> is_zarr(const Store& store, const std::string& uri);

}  // namespace penstock
