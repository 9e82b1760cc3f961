// From what the user typed to a source: finds out the kind, and says what is wrong where it is not.
#include <fmt/format.h>

#include <filesystem>

#include "base/nearest_name.h"
#include "penstock/source.h"
#include "source/folder_source.h"
#include "source/kept_index.h"
#include "source/npy_source.h"
#include "source/path_pattern.h"
#include "store/file_store.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestIndex = std::uint64_t{4} << 30;

std::unexpected<Error> not_there(const std::string& uri) {
  std::error_code ignored;
  const fs::path path = fs::path(uri).lexically_normal();
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> names;
  for (fs::directory_iterator entry(parent, ignored), end; !ignored && entry != end && names.size() < 10'000;
       entry.increment(ignored))
    names.push_back(entry->path().filename().string());
  std::string hint;
  if (!fs::exists(parent, ignored))
    hint = fmt::format(" (there is no folder {})", parent.string());
  else if (const auto near = nearest_name(path.filename().string(), names))
    hint = fmt::format(" (did you mean {}?)",
                       (path.has_parent_path() ? parent / *near : fs::path(*near)).string());
  return fail(ErrorCode::kNotFound, "no such file or folder" + hint, {uri, -1, -1, -1});
}

std::string absolute(const std::string& path) {
  std::string text = fs::absolute(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

Result<SourcePtr> open_folder(std::shared_ptr<const Store> store, const std::string& uri,
                              const OpenOptions& options) {
  FolderSourceOptions folder{uri, absolute(uri), options.masks.empty() ? "" : absolute(options.masks), "",
                             options.warn};
  if (options.keep_index) folder.kept_path = kept_index_path(options.cache_dir, folder.root, options.kind);
  if (!folder.kept_path.empty())
    if (const auto bytes = read_all(*store, folder.kept_path, kLargestIndex)) {
      auto kept = parse_index(*bytes, folder.root);
      if (kept && index_fits(*store, folder.root, *kept))
        return make_folder_source(std::move(store), std::move(*kept), std::move(folder));
      if (!kept && options.warn)
        options.warn(fmt::format("{}: the kept index {} is damaged and is made anew", uri, folder.kept_path));
    }
  auto scanned = scan_folder(*store, folder.root, options.kind, {options.progress});
  if (!scanned) return std::unexpected(std::move(scanned).error());
  if (!folder.kept_path.empty()) keep_index(folder.kept_path, *scanned, folder.root);
  return make_folder_source(std::move(store), std::move(*scanned), std::move(folder));
}

// Files named one by one: flat, in the order of their names.
Result<SourcePtr> open_files(std::shared_ptr<const Store> store, const std::string& uri,
                             const std::vector<std::string>& paths, const OpenOptions& options) {
  FileIndex index;
  index.folders.push_back({"", 0});
  for (std::size_t i = 0; i < paths.size(); ++i) {
    FileKind kind;
    if (!kind_of_name(paths[i], kind))
      return fail(ErrorCode::kUnsupported, "not an image (jpg, png, webp) or .npy file by its name",
                  {paths[i], -1, -1, -1});
    if (i > 0 && kind != index.kind)
      return fail(ErrorCode::kInvalidArgument, "the pattern matches both images and .npy files",
                  {uri, -1, -1, -1});
    index.kind = kind;
    const auto version = store->stat(paths[i]);
    if (!version) return std::unexpected(version.error());
    index.files.push_back({0, static_cast<std::uint32_t>(paths[i].size()), index.names.size(), version->size,
                           version->modified_ns});
    index.names += paths[i];
  }
  // Names stay as they were written; a later change of the working folder must not move them.
  const std::string root = fs::path(paths.front()).is_absolute() ? "" : absolute(".");
  return make_folder_source(
      std::move(store), std::move(index),
      {uri, root, options.masks.empty() ? "" : absolute(options.masks), "", options.warn});
}

}  // namespace

Result<SourcePtr> open_source(const std::string& uri, const OpenOptions& options) {
  if (!options.kind.empty() && options.kind != "images" && options.kind != "npy")
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("kind=\"{}\" is not known; this version reads \"images\" and \"npy\"", options.kind));
  if (uri.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty string");
  if (uri.find("://") != std::string::npos)
    return fail(ErrorCode::kUnsupported, "this version reads local files only", {uri, -1, -1, -1});
  auto store = std::make_shared<const FileStore>();
  std::error_code error;
  const fs::file_status status = fs::status(uri, error);
  if (fs::is_directory(status)) return open_folder(std::move(store), uri, options);
  if (fs::exists(status)) {
    FileKind kind;
    if (!kind_of_name(uri, kind))
      return fail(ErrorCode::kUnsupported, "this version reads folders of images, image files and .npy files",
                  {uri, -1, -1, -1});
    if (kind == FileKind::kNpy) return make_npy_source(std::move(store), uri, absolute(uri));
    return open_files(std::move(store), uri, {uri}, options);
  }
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    return fail(error == std::errc::permission_denied ? ErrorCode::kNoAccess : ErrorCode::kIo,
                fmt::format("cannot look at it ({})", error.message()), {uri, -1, -1, -1});
  if (is_pattern(uri)) {
    auto paths = expand_pattern(uri);
    if (!paths) return std::unexpected(std::move(paths).error());
    return open_files(std::move(store), uri, *paths, options);
  }
  return not_there(uri);
}

}  // namespace penstock
