#include "source/zarr/metadata/zarr_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/interruption.h"
#include "source/zarr/metadata/metadata_object.h"

namespace penstock {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxNodes = 100'000;

enum class NodeKind : std::uint8_t { kArray, kGroup, kNeither };

class TreeSearch {
 public:
  TreeSearch(const Store& store, const std::string& uri, int version)
      : store_(store),
        uri_(uri),
        version_(version) {}

  Status search(const std::string& folder, int depth) {
    auto entries = store_.list(folder.empty() ? uri_ : uri_ + "/" + folder);
    if (!entries) {
      const ErrorCode code = entries.error().code;
      if (code == ErrorCode::kUnsupported || code == ErrorCode::kNotFound) return {};
      return std::unexpected(std::move(entries).error());
    }
    for (const FolderEntry& entry : *entries) {
      if (!entry.is_folder || !is_node_name(entry.name)) continue;
      PENSTOCK_CHECK(check_interruption(uri_));
      if (++nodes_ > kMaxNodes)
        return bad_metadata(
            ErrorCode::kTooLarge,
            fmt::format("more than {} folders to search for arrays: consolidate the metadata, or "
                        "open an array by name",
                        kMaxNodes),
            uri_);
      const std::string name = folder.empty() ? entry.name : folder + "/" + entry.name;
      const auto kind = kind_of(name);
      if (!kind) return std::unexpected(kind.error());
      if (*kind == NodeKind::kArray) names.push_back(name);
      if (*kind == NodeKind::kGroup && depth < kMaxDepth) PENSTOCK_CHECK(search(name, depth + 1));
    }
    return {};
  }

  std::vector<std::string> names;

 private:
  // Only checks that the object exists; opening the array reports errors in it.
  Result<bool> has(const std::string& key) const {
    const auto found = store_.stat(key);
    if (found) return true;
    if (found.error().code == ErrorCode::kNotFound) return false;
    return std::unexpected(found.error());
  }

  Result<NodeKind> kind_of(const std::string& name) const {
    const std::string folder = uri_ + "/" + name;
    if (version_ == 3) {
      const auto zarr_json = read_metadata_object(store_, folder + "/zarr.json", kMaxGroupMetadataBytes);
      if (!zarr_json) {
        if (zarr_json.error().code == ErrorCode::kCorrupt) return NodeKind::kArray;
        return std::unexpected(zarr_json.error());
      }
      if (!*zarr_json) return NodeKind::kNeither;
      const Json* type = find_member(**zarr_json, "node_type");
      return type != nullptr && *type == "group" ? NodeKind::kGroup : NodeKind::kArray;
    }
    for (const auto& [object, kind] :
         {std::pair{"/.zarray", NodeKind::kArray}, std::pair{"/.zgroup", NodeKind::kGroup}}) {
      const auto there = has(folder + object);
      if (!there) return std::unexpected(there.error());
      if (*there) return kind;
    }
    return NodeKind::kNeither;
  }

  const Store& store_;
  const std::string& uri_;
  const int version_;
  std::size_t nodes_ = 0;
};

}  // namespace

Result<std::vector<std::string>> list_zarr_arrays(const Store& store, const std::string& uri,
                                                  int zarr_version) {
  TreeSearch search(store, uri, zarr_version);
  PENSTOCK_CHECK(search.search("", 1));
  std::ranges::sort(search.names);
  return std::move(search.names);
}

}  // namespace penstock
