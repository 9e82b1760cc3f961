// A Zarr hierarchy, versions 2 and 3: arrays and groups, opened from their metadata.
//
// Nothing here reads a chunk. Metadata may be anything; every number in it is checked before it is
// used, and unknown codecs, types and chunk grids are errors that name them.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "penstock/arrays.h"
#include "source/chunked_array.h"
#include "source/zarr/metadata/metadata_object.h"

namespace penstock {

struct ZarrArray {
  std::string name;  // path below the node that was opened; empty: that is the array
  ChunkedArrayPtr data;
  std::vector<std::string> dimensions;  // v3 dimension_names, v2 _ARRAY_DIMENSIONS; empty: not named
  nlohmann::json attributes = nlohmann::json::object();
  std::optional<std::string> time_unit;  // NumPy datetime64 or timedelta64, which are int64 here: "ns"
  bool is_duration = false;              // timedelta64
  std::optional<double> fill_value;      // v2, where it is a number: xarray keeps _FillValue there
  std::uint64_t stored_bytes = 0;        // an upper bound where it is not known: the decoded size
};

// Empty where the array has no such attribute, or one that is no text.
std::string text_attribute(const ZarrArray& array, const char* name);

struct ZarrOpenOptions {
  MissingChunk missing = MissingChunk::kFillIfGone;
};

// What stands at a uri: an array, or a group. Of a group, the arrays directly or further below it
// are known from consolidated metadata, else from listing (where the store can), else only by name.
class ZarrNode {
 public:
  static Result<ZarrNode> open(std::shared_ptr<const Store> store, const std::string& uri,
                               const ZarrOpenOptions& options);

  bool is_array() const;
  int version() const;  // 2 or 3
  // Names of arrays, sorted; empty for an array, or where they cannot be listed.
  const std::vector<std::string>& arrays() const;
  // Of an array: "". Fails with the nearest name where there is no such array.
  Result<ZarrArray> array(const std::string& name) const;
  // Is its type one that is read? Also where the array is not, for other reasons.
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

  std::shared_ptr<const Store> store_, chunk_store_;  // for metadata, for chunks
  std::string uri_;
  ZarrOpenOptions options_;
  int version_ = 0;
  bool is_array_ = false;
  std::vector<std::string> names_;
  std::map<std::string, Metadata> metadata_;  // consolidated, or that of this array
};

// Is there Zarr metadata at this uri? Looks for zarr.json, .zarray, .zgroup, .zmetadata.
Result<bool> is_zarr(const Store& store, const std::string& uri);

}  // namespace penstock
