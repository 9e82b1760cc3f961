#include "source/patches/open_volume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/lower_case.h"
#include "source/npy_volume.h"
#include "source/path_pattern.h"
#include "source/tiff_volume.h"
#include "source/zarr/zarr_node.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

bool is_tiff_name(const std::string& path) {
  const std::string name = lower_case(path);
  return name.ends_with(".tif") || name.ends_with(".tiff");
}

Result<ChunkedArrayPtr> open_zarr_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                         bool missing_is_error) {
  const auto node = ZarrNode::open(std::move(store), uri, {missing_is_error});
  if (!node) return std::unexpected(node.error());
  if (!node->is_array()) {
    const auto& names = node->arrays();
    const std::vector<std::string> some(names.begin(),
                                        names.begin() + std::min<std::ptrdiff_t>(10, std::ssize(names)));
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("a Zarr group, not an array; name one of its arrays{}",
                    some.empty() ? ", as in " + uri + "/0" : fmt::format(": {}", fmt::join(some, ", "))),
        {uri, -1, -1, -1});
  }
  auto array = node->array("");
  if (!array) return std::unexpected(std::move(array).error());
  return std::move(array->data);
}

}  // namespace

Result<ChunkedArrayPtr> open_volume(const std::string& given, bool missing_is_error,
                                    const std::vector<std::string>& headers) {
  auto store = make_store_for(given, headers);
  if (!store) return std::unexpected(std::move(store).error());
  const std::string uri = without_secrets(given);
  const bool is_remote = uri.find("://") != std::string::npos;
  if (lower_case(uri).ends_with(".npy")) return open_npy_volume(std::move(*store), uri, uri);
  if (is_tiff_name(uri) && !is_pattern(uri)) return open_tiff_volume(std::move(*store), uri, {uri});
  if (is_pattern(uri) && !is_remote) {
    auto paths = expand_pattern(uri);
    if (!paths) return std::unexpected(std::move(paths).error());
    if (!std::ranges::all_of(*paths, is_tiff_name))
      return fail(ErrorCode::kInvalidArgument,
                  "a pattern as one volume means TIFF planes; give several volumes as a list",
                  {uri, -1, -1, -1});
    return open_tiff_volume(std::move(*store), uri, std::move(*paths));
  }
  const auto is_array = is_zarr(**store, uri);
  if (!is_array) return std::unexpected(is_array.error());
  if (*is_array) return open_zarr_volume(std::move(*store), uri, missing_is_error);
  if (!is_remote) {
    const auto entries = (*store)->list(uri);
    if (!entries && entries.error().code == ErrorCode::kNotFound && !(*store)->stat(uri))
      return fail(ErrorCode::kNotFound, "no such file or folder", {uri, -1, -1, -1});
    std::vector<std::string> planes;
    if (entries)
      for (const FolderEntry& entry : *entries)
        if (!entry.is_folder && is_tiff_name(entry.name)) planes.push_back(uri + "/" + entry.name);
    if (!planes.empty()) return open_tiff_volume(std::move(*store), uri, std::move(planes));
  }
  return fail(ErrorCode::kUnsupported, "not a Zarr array, .npy file or TIFF stack", {uri, -1, -1, -1});
}

}  // namespace penstock
