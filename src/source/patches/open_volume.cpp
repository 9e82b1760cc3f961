#include "source/patches/open_volume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/lower_case.h"
#include "base/text/natural_order.h"
#include "source/volume/npy_volume.h"
#include "source/path_pattern.h"
#include "source/volume/tiff_volume.h"
#include "source/zarr/variable.h"
#include "source/zarr/metadata/zarr_node.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

std::unexpected<Error> refused(ErrorCode code, std::string message, const std::string& uri) {
  return fail(code, std::move(message), {uri, -1, -1, -1});
}

// Values of files without attributes need decoding only if NaN must be replaced or reported.
std::shared_ptr<const ValueCoding> nan_coding(DType dtype, const PatchOptions& options) {
  const bool is_float = dtype >= DType::kFloat16 && dtype <= DType::kFloat64;
  if (!is_float || options.nan == ZarrOptions::Nan::kKeep) return nullptr;
  ValueCoding coding;
  coding.dtype = dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  coding.missing_is_error = options.nan == ZarrOptions::Nan::kError;
  coding.instead_of_missing = options.nan_value;
  return std::make_shared<const ValueCoding>(std::move(coding));
}

// Only the axis of channels matters here, so Q represents every other axis.
std::string letters_of(const std::vector<std::string>& dimensions) {
  std::string letters;
  for (const std::string& dimension : dimensions) {
    const std::string name = lower_case(dimension);
    letters += name == "c" || name == "channel" || name == "channels" ? 'C' : 'Q';
  }
  return letters;
}

Result<Volume> open_zarr_volume(std::shared_ptr<const Store> store, const std::string& uri, VolumeUse use,
                                const PatchOptions& options) {
  const auto node = ZarrNode::open(std::move(store), uri, {options.missing});
  if (!node) return std::unexpected(node.error());
  if (!node->is_array()) {
    const auto& names = node->arrays();
    const std::vector<std::string> some(names.begin(),
                                        names.begin() + std::min<std::ptrdiff_t>(10, std::ssize(names)));
    return refused(
        ErrorCode::kInvalidArgument,
        fmt::format("a Zarr group, not an array; name one of its arrays{}",
                    some.empty() ? ", as in " + uri + "/0" : fmt::format(": {}", fmt::join(some, ", "))),
        uri);
  }
  auto array = node->array("");
  if (!array) return std::unexpected(std::move(array).error());
  Volume volume{array->data, nullptr, letters_of(array->dimensions)};
  if (use == VolumeUse::kMask) return volume;
  ZarrOptions how;
  how.decode_cf = options.decode_cf;
  how.nan = use == VolumeUse::kImage ? options.nan : ZarrOptions::Nan::kKeep;
  how.nan_value = options.nan_value;
  auto coding = coding_of(*array, how);
  if (!coding) return std::unexpected(std::move(coding).error());
  // A _FillValue alone does not turn class numbers into floating-point values, because losses need them as
  // integers.
  const bool is_scaled = *coding && ((*coding)->scale != 1 || (*coding)->offset != 0);
  if (use == VolumeUse::kImage || is_scaled) volume.coding = std::move(*coding);
  return volume;
}

Result<Volume> as_volume(Result<ChunkedArrayPtr> array, VolumeUse use, const PatchOptions& options) {
  if (!array) return std::unexpected(std::move(array).error());
  Volume volume{std::move(*array), nullptr, {}};
  volume.axes = volume.array->axes();
  if (use == VolumeUse::kImage) volume.coding = nan_coding(volume.array->spec().dtype, options);
  return volume;
}

// The files of a pattern or folder, one per plane; empty if a folder has none.
Result<std::vector<std::string>> planes_of(const Store& store, const std::string& uri) {
  std::vector<std::string> planes;
  if (is_pattern(uri)) {
    auto paths = expand_pattern(store, uri);
    if (!paths) return paths;
    if (!std::ranges::all_of(*paths, is_tiff_name))
      return refused(ErrorCode::kInvalidArgument,
                     "a pattern as one volume means TIFF planes; give several volumes as a list", uri);
    planes = std::move(*paths);
  } else {
    const auto entries = store.list(uri);
    if (!entries && entries.error().code == ErrorCode::kNotFound && !store.stat(uri))
      return refused(ErrorCode::kNotFound, "no such file or folder", uri);
    if (entries)
      for (const FolderEntry& entry : *entries)
        if (!entry.is_folder && is_tiff_name(entry.name)) planes.push_back(uri + "/" + entry.name);
  }
  std::ranges::sort(planes, comes_before_naturally);
  return planes;
}

}  // namespace

bool is_tiff_name(const std::string& path) {
  const std::string name = lower_case(path);
  return name.ends_with(".tif") || name.ends_with(".tiff");
}

Result<Volume> open_volume(const std::string& given, VolumeUse use, const PatchOptions& options) {
  auto store = make_store_for(given, options.headers);
  if (!store) return std::unexpected(std::move(store).error());
  const std::string uri = object_key(given);
  const std::vector<PageAxis> axes = use == VolumeUse::kImage ? options.axes : std::vector<PageAxis>{};
  const auto open_tiff = [&](std::vector<std::string> files) {
    return as_volume(open_tiff_volume(std::move(*store), uri, std::move(files), axes), use, options);
  };
  const bool can_list = (*store)->traits().can_list;
  if (is_tiff_name(uri) && !is_pattern(uri)) return open_tiff({uri});
  const bool is_npy = lower_case(uri).ends_with(".npy");
  const auto is_array = is_npy || (is_pattern(uri) && can_list) ? Result<bool>(false) : is_zarr(**store, uri);
  if (!is_array) return std::unexpected(is_array.error());
  if (!is_npy && !*is_array && can_list) {
    auto planes = planes_of(**store, uri);
    if (!planes) return std::unexpected(std::move(planes).error());
    if (!planes->empty()) return open_tiff(std::move(*planes));
  }
  if (!is_npy && !*is_array)
    return refused(ErrorCode::kUnsupported, "not a Zarr array, .npy file or TIFF stack", uri);
  if (!axes.empty())
    return refused(ErrorCode::kInvalidArgument, "axes= is for TIFF; Zarr and .npy say their axes themselves",
                   uri);
  if (is_npy) return as_volume(open_npy_volume(std::move(*store), uri, uri), use, options);
  return open_zarr_volume(std::move(*store), uri, use, options);
}

}  // namespace penstock
