#include "source/files/file_list.h"

#include <fmt/format.h>

#include "decode/image/image_formats.h"
#include "penstock/interruption.h"
#include "source/files/folder_source.h"
#include "source/files/npy_source.h"
#include "store/key_path.h"

namespace penstock {
namespace {

Result<SourcePtr> open_listed(OpenRequest request, const OpenOptions& options) {
  if (!request.store->traits().can_list)
    return fail(ErrorCode::kUnsupported, "a server cannot be listed: folders and single images want a manifest",
                {request.uri, -1, -1, -1});
  return open_file_list(std::move(request.store), request.uri, {std::move(request.paths), {}, {}}, options);
}

}  // namespace

bool is_image_name(std::string_view name) {
  FileKind kind;
  return kind_of_name(name, kind) && kind == FileKind::kImage;
}

bool is_npy_name(std::string_view name) {
  FileKind kind;
  return kind_of_name(name, kind) && kind == FileKind::kNpy;
}

Result<SourcePtr> open_file_list(std::shared_ptr<const Store> store, const std::string& uri, const LabelledFiles& files,
                                 const OpenOptions& options) {
  const std::vector<std::string>& paths = files.paths;
  FileIndex index;
  index.folders.push_back({"", 0});
  for (std::size_t i = 0; i < paths.size(); ++i) {
    FileKind kind;
    PENSTOCK_CHECK(check_interruption(uri));
    if (!kind_of_name(paths[i], kind))
      return fail(ErrorCode::kUnsupported,
                  fmt::format("not an image ({}) or .npy file by its name", image_endings()),
                  {paths[i], -1, -1, -1});
    if (i > 0 && kind != index.kind)
      return fail(ErrorCode::kInvalidArgument, "images and .npy files together; one kind at a time",
                  {uri, -1, -1, -1});
    index.kind = kind;
    const auto version = store->stat(paths[i]);
    if (!version) return std::unexpected(version.error());
    index.files.push_back({0, static_cast<std::uint32_t>(paths[i].size()), index.names.size(), version->size,
                           version->modified_ns});
    index.names += paths[i];
  }
  // Names stay as the user wrote them. The root is made absolute here, so that a later change of the working
  // directory does not change the files.
  FolderSourceOptions folder;
  folder.uri = uri;
  folder.root = absolute_key(".");
  folder.warn = options.warn;
  PENSTOCK_CHECK(find_masks_folder(*store, options, folder));
  folder.labels = files.labels;
  folder.classes = files.classes;
  return make_folder_source(std::move(store), std::move(index), std::move(folder));
}

Result<SourcePtr> open_image_files(OpenRequest request, const OpenOptions& options) {
  return open_listed(std::move(request), options);
}

Result<SourcePtr> open_npy_files(OpenRequest request, const OpenOptions& options) {
  if (!request.is_alone) return open_listed(std::move(request), options);
  return make_npy_source(std::move(request.store), request.uri, absolute_key(request.paths.front()));
}

}  // namespace penstock
