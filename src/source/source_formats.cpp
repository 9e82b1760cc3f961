#include "source/source_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/lower_case.h"
#include "penstock/source.h"
#include "source/files/file_list.h"
#include "source/files/npy_source.h"
#include "source/manifest/manifest_source.h"
#include "source/mds/mds_source.h"
#include "source/packed/open_packed.h"
#include "source/records/tar_source.h"
#include "source/records/tfrecord_source.h"
#include "source/zarr/metadata/zarr_node.h"

namespace penstock {
namespace {

Result<SourcePtr> open_zarr_folder(OpenRequest request, const OpenOptions& options) {
  ZarrOptions zarr;
  zarr.headers = options.headers;
  return open_zarr(request.given, zarr);
}

}  // namespace

std::span<const SourceFormat> source_formats() {
  using Unit = SourceFormat::Unit;
  static const std::vector<SourceFormat> formats = {
      {"images", "image files and folders of images", Unit::kSample, true, is_image_name, nullptr, open_image_files},
      {"npy", ".npy files", Unit::kSample, false, is_npy_name, nullptr, open_npy_files},
      {"tar", ".tar shards", Unit::kShard, false, is_tar_name, nullptr, open_tar},
      {"tfrecord", ".tfrecord shards", Unit::kShard, false, is_tfrecord_name, nullptr, open_tfrecord},
      {"manifest", ".csv and .jsonl manifests", Unit::kObject, false, is_manifest_name, nullptr, open_manifest},
      {"packed", "packed data sets", Unit::kObject, false, is_pack_manifest_name, is_packed_folder, open_packed},
      {"zarr", "Zarr stores", Unit::kFolder, false, nullptr, is_zarr, open_zarr_folder},
      {"mds", "MDS data sets", Unit::kFolder, false, is_mds_index_name, is_mds, open_mds},
  };
  return formats;
}

const SourceFormat* source_format_named(std::string_view name) {
  const auto found = std::ranges::find(source_formats(), name, &SourceFormat::name);
  return found == source_formats().end() ? nullptr : &*found;
}

const SourceFormat* source_format_of(const std::string& path) {
  const std::string name = lower_case(std::string_view(path).substr(path.rfind('/') + 1));
  for (const SourceFormat& format : source_formats())
    if (format.has_name != nullptr && format.has_name(name)) return &format;
  return nullptr;
}

Result<const SourceFormat*> source_format_of_folder(const Store& store, const std::string& path) {
  for (const SourceFormat& format : source_formats()) {
    if (format.is_folder == nullptr) continue;
    const auto is_here = format.is_folder(store, path);
    if (!is_here) return std::unexpected(is_here.error());
    if (*is_here) return &format;
  }
  return nullptr;
}

std::vector<std::string> source_format_names() {
  std::vector<std::string> names;
  for (const SourceFormat& format : source_formats()) names.emplace_back(format.name);
  return names;
}

std::string describe_source_formats(bool can_list) {
  std::vector<std::string_view> descriptions;
  for (const SourceFormat& format : source_formats())
    if (can_list || !format.needs_listing) descriptions.push_back(format.description);
  return fmt::format("{}", fmt::join(descriptions, ", "));
}

}  // namespace penstock
