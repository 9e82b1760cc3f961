// From what the user typed to a source: finds out the kind, and says what is wrong where it is not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/text/lower_case.h"
#include "base/text/nearest_name.h"
#include "base/memory/opening_memory.h"
#include "decode/image/image.h"
#include "penstock/arrays.h"
#include "penstock/interruption.h"
#include "penstock/source.h"
#include "source/files/folder_source.h"
#include "source/index/saved_index.h"
#include "source/manifest/manifest_source.h"
#include "source/files/npy_source.h"
#include "source/patches/open_volume.h"
#include "source/path_pattern.h"
#include "source/records/tar_source.h"
#include "source/records/tfrecord_source.h"
#include "source/zarr/metadata/zarr_node.h"
#include "store/file_store.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

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

// URLs are absolute as they are.
std::string absolute(const std::string& path) {
  if (is_remote(path)) return path;
  std::string text = fs::absolute(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

// "train-00000-of-01024", as TensorFlow's own scripts name shards.
bool is_numbered_shard(std::string_view name) {
  constexpr std::size_t kDigits = 5;
  const auto cut_digits = [&] {
    const std::size_t before = name.size();
    while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back()))) name.remove_suffix(1);
    return before - name.size() >= kDigits;
  };
  if (!cut_digits() || !name.ends_with("-of-")) return false;
  name.remove_suffix(4);
  return cut_digits() && name.ends_with('-');
}

// What a file is by its name: one of the kinds, "" where it is none.
std::string kind_of_file(const std::string& path) {
  const std::string name = lower_case(fs::path(path).filename().string());
  const auto ends = [&](std::initializer_list<std::string_view> endings) {
    return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
  };
  if (ends({".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"})) return "tar";
  if (ends({".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz", ".tfrec"})) return "tfrecord";
  if (ends({".csv", ".tsv", ".jsonl", ".ndjson"})) return "manifest";
  if (is_numbered_shard(name)) return "tfrecord";
  FileKind kind;
  if (!kind_of_name(name, kind)) return "";
  return kind == FileKind::kNpy ? "npy" : "images";
}

// `identity`: what the kept index is found by.
Result<SourcePtr> open_shards(std::shared_ptr<const Store> store, const std::string& uri,
                              const std::string& identity, const std::string& kind,
                              std::vector<std::string> paths, const OpenOptions& options) {
  for (std::string& path : paths) path = absolute(path);
  const ShardSet shards{uri, identity, kind, std::move(paths)};
  return kind == "tar" ? open_tar(std::move(store), shards, options)
                       : open_tfrecord_shards(std::move(store), shards, options);
}

// The shards of a folder that holds shards and no images, arrays or folders beside them (unless `kind`
// says that shards are meant); empty where it is no such folder.
Result<std::vector<std::string>> find_shards(const Store& store, const std::string& uri, std::string& kind) {
  const auto entries = store.list(absolute(uri));
  if (!entries) return std::unexpected(entries.error());
  std::vector<std::string> paths;
  const bool is_told = !kind.empty();
  for (const FolderEntry& entry : *entries) {
    if (is_passed_over(entry.name)) continue;
    const std::string here = entry.is_folder ? "folder" : kind_of_file(entry.name);
    if (!is_told && (here == "folder" || here == "images" || here == "npy"))
      return std::vector<std::string>{};
    if (here != "tar" && here != "tfrecord") continue;
    if (kind.empty()) kind = here;
    if (here == kind) paths.push_back(uri + "/" + entry.name);
  }
  return paths;
}

Result<SourcePtr> open_folder(std::shared_ptr<const Store> store, const std::string& uri,
                              const OpenOptions& options) {
  FolderSourceOptions folder{uri, absolute(uri), options.masks.empty() ? "" : absolute(options.masks), "",
                             options.warn};
  if (options.kind.empty() || options.kind == "tar" || options.kind == "tfrecord") {
    std::string kind = options.kind;
    auto shards = find_shards(*store, uri, kind);
    if (!shards) return std::unexpected(std::move(shards).error());
    if (!shards->empty()) return open_shards(std::move(store), uri, absolute(uri), kind, std::move(*shards), options);
    if (!options.kind.empty())
      return fail(ErrorCode::kNotFound, fmt::format("no {} shards in this folder", options.kind),
                  {uri, -1, -1, -1});
  }
  if (options.keep_index) folder.saved_index_path = saved_index_path(options.cache_dir, folder.root, options.kind);
  if (!folder.saved_index_path.empty())
    if (const auto bytes = read_saved_index(folder.saved_index_path)) {
      auto kept = parse_index(*bytes, folder.root);
      if (kept && index_fits(*store, folder.root, *kept))
        return make_folder_source(std::move(store), std::move(*kept), std::move(folder));
      if (!kept && kept.error().code == ErrorCode::kCorrupt && options.warn)
        options.warn(fmt::format("{}: the kept index {} is damaged and is made anew", uri, folder.saved_index_path));
    }
  auto scanned = scan_folder(*store, folder.root, options.kind, {options.progress});
  if (!scanned) return std::unexpected(std::move(scanned).error());
  if (!folder.saved_index_path.empty()) keep_index(folder.saved_index_path, serialise_index(*scanned, folder.root));
  return make_folder_source(std::move(store), std::move(*scanned), std::move(folder));
}

// Files named one by one: flat, in the order given.
Result<SourcePtr> open_files(std::shared_ptr<const Store> store, const std::string& uri,
                             const LabelledFiles& files, const OpenOptions& options) {
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
  // Names stay as they were written; a later change of the working folder must not move them.
  FolderSourceOptions folder{uri, absolute("."), options.masks.empty() ? "" : absolute(options.masks), "",
                             options.warn};
  folder.labels = files.labels;
  folder.classes = files.classes;
  return make_folder_source(std::move(store), std::move(index), std::move(folder));
}

std::string name_of_list(const std::vector<std::string>& uris) {
  const std::string first = without_secrets(uris.front());
  return uris.size() == 1 ? first : fmt::format("{} and {} more", first, uris.size() - 1);
}

struct ExpandedList {
  std::vector<std::string> paths;
  bool has_folders = false;  // with anything but shards in them
};

// Patterns, and folders of shards, to files; the order of the list stays.
Result<ExpandedList> expand_list(const Store& store, const std::vector<std::string>& uris, const std::string& kind) {
  ExpandedList list;
  for (const std::string& uri : uris) {
    std::error_code error;
    if (uri.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty string");
    if (is_remote(uri) != is_remote(uris.front()))
      return fail(ErrorCode::kUnsupported, "files and URLs in one list", {without_secrets(uri), -1, -1, -1});
    const fs::file_status status = is_remote(uri) ? fs::file_status() : fs::status(uri, error);
    std::vector<std::string> found = {uri};
    if (fs::is_directory(status)) {
      std::string kind_there = kind == "images" || kind == "npy" ? "" : kind;
      auto shards = find_shards(store, uri, kind_there);
      if (!shards) return std::unexpected(std::move(shards).error());
      list.has_folders = list.has_folders || shards->empty();
      found = std::move(*shards);
    } else if (!fs::exists(status) && is_pattern(uri)) {
      auto matches = expand_pattern(store, uri);
      if (!matches) return std::unexpected(std::move(matches).error());
      found = std::move(*matches);
    } else if (!fs::exists(status) && !is_remote(uri)) {
      return not_there(uri);
    }
    list.paths.insert(list.paths.end(), found.begin(), found.end());
  }
  return list;
}

// A TIFF file of several pages is a volume, and samples are patches of it that only the user can choose. Of several
// files the first decides, as it does for other kinds: a file is the same thing alone, in a list and in a pattern.
// Files of one page, and files that cannot be read as a volume, are left to the readers of images.
Status check_no_volume(const std::string& uri) {
  if (!is_tiff_name(uri)) return {};
  const auto volume = open_volume(uri, VolumeUse::kMask, {});
  if (!volume) return {};
  const std::string axes = volume->array->axes();
  const Shape& shape = volume->array->spec().shape;
  std::int64_t pages = 1;
  for (std::size_t d = 0; d < axes.find('Y'); ++d) pages *= shape[d];
  if (pages == 1) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("a TIFF volume of shape {} (axes {}): its samples are patches; open it with "
                          "ps.Patches(path, size=...), or on the command line with --patch; kind=\"images\" takes the first "
                          "page of each file as an image",
                          shape, axes),
              {uri, -1, -1, -1});
}

// A server cannot be listed: one object, a brace pattern, a manifest, or a Zarr hierarchy.
Result<SourcePtr> open_remote(const std::string& given, const OpenOptions& options) {
  auto store = make_store_for(given, options.headers);
  if (!store) return std::unexpected(std::move(store).error());
  const std::string uri = without_secrets(given), key = object_key(given);
  std::vector<std::string> paths = {key};
  if (key.find('{') != std::string::npos) {
    auto expanded = expand_pattern(**store, key);
    if (!expanded) return std::unexpected(std::move(expanded).error());
    paths = std::move(*expanded);
  }
  const std::string& name = paths.front();
  const std::string kind = options.kind.empty() ? kind_of_file(name) : options.kind;
  if (kind == "tar" || kind == "tfrecord")
    return open_shards(std::move(*store), uri, key, kind, std::move(paths), options);
  if (paths.size() == 1 && kind == "manifest")
    return open_manifest(std::move(*store), uri, name,
                         options.root.empty() ? name.substr(0, name.rfind('/')) : without_secrets(options.root),
                         options);
  if (paths.size() == 1 && kind == "npy") return make_npy_source(std::move(*store), uri, name);
  if (kind.empty() || kind == "zarr") {
    ZarrOptions zarr;
    zarr.headers = options.headers;
    auto opened = open_zarr(given, zarr);
    if (!opened && kind.empty() && opened.error().code == ErrorCode::kNotFound)
      return fail(
          ErrorCode::kUnsupported,
          "nothing there that is known: over HTTP this version reads Zarr, .tar and .tfrecord shards (named "
          "one by one or as in {000..099}), .npy files and .csv and .jsonl manifests",
          {uri, -1, -1, -1});
    return opened;
  }
  return fail(ErrorCode::kUnsupported, "a server cannot be listed: folders and single images want a manifest",
              {uri, -1, -1, -1});
}

Result<SourcePtr> open_one(const std::string& uri, const OpenOptions& options) {
  static const std::vector<std::string> kinds = {"images", "npy", "tar", "tfrecord", "manifest", "zarr"};
  if (!options.kind.empty() && std::ranges::find(kinds, options.kind) == kinds.end())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("kind=\"{}\" is not known; there are {}", options.kind, fmt::join(kinds, ", ")));
  if (uri.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty string");
  if (is_remote(uri)) return open_remote(uri, options);
  auto store = std::make_shared<const FileStore>();
  std::error_code error;
  const fs::file_status status = fs::status(uri, error);
  if (options.kind == "zarr") return open_zarr(uri, {});
  if (options.kind.empty() && fs::is_directory(status)) {
    const auto is_array = is_zarr(*store, uri);
    if (!is_array) return std::unexpected(is_array.error());
    if (*is_array) return open_zarr(uri, {});
  }
  if (fs::is_directory(status) && options.kind != "manifest")
    return open_folder(std::move(store), uri, options);
  std::vector<std::string> paths = {uri};
  const bool is_one_file = fs::exists(status);
  if (is_one_file) {
    // The name is meant as it stands, whatever characters it has.
  } else if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
    return fail(error == std::errc::permission_denied ? ErrorCode::kNoAccess : ErrorCode::kIo,
                fmt::format("cannot look at it ({})", error.message()), {uri, -1, -1, -1});
  } else if (is_pattern(uri)) {
    auto expanded = expand_pattern(*store, uri);
    if (!expanded) return std::unexpected(std::move(expanded).error());
    paths = std::move(*expanded);
  } else {
    return not_there(uri);
  }
  if (options.kind.empty()) PENSTOCK_CHECK(check_no_volume(paths.front()));
  const std::string kind = options.kind.empty() ? kind_of_file(paths.front()) : options.kind;
  if (kind == "tar" || kind == "tfrecord")
    return open_shards(std::move(store), uri, absolute(uri), kind, std::move(paths), options);
  if (kind.empty() && !is_one_file && fs::is_directory(paths.front())) {
    const auto are_arrays = is_zarr(*store, paths.front());
    if (!are_arrays) return std::unexpected(are_arrays.error());
    if (*are_arrays) return open_zarr(uri, {});
  }
  if (kind == "manifest") {
    if (paths.size() > 1)
      return fail(ErrorCode::kInvalidArgument, "several manifests; join them, or mix them",
                  {uri, -1, -1, -1});
    const std::string path = absolute(paths.front());
    return open_manifest(
        std::move(store), uri, path,
        options.root.empty() ? fs::path(path).parent_path().string() : absolute(options.root), options);
  }
  if (kind == "npy" && is_one_file) return make_npy_source(std::move(store), uri, absolute(uri));
  if (kind.empty() && is_one_file)
    return fail(
        ErrorCode::kUnsupported,
        "not known by its name; this version reads folders of images, image and .npy files, .tar and "
        ".tfrecord shards, .csv and .jsonl manifests, Zarr stores (kind= says what it is); volumes are "
        "opened by ps.Patches",
        {uri, -1, -1, -1});
  return open_files(std::move(store), uri, {std::move(paths), {}, {}}, options);
}

Result<SourcePtr> open_several(const std::vector<std::string>& uris, const OpenOptions& options) {
  if (uris.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty list");
  // Alone, a .npy file is an array of samples; in a list it is one sample, however long the list is.
  const auto is_local_npy = [&](const std::string& uri) {
    std::error_code ignored;
    return !is_remote(uri) && fs::is_regular_file(uri, ignored) &&
           (options.kind.empty() ? kind_of_file(uri) : options.kind) == "npy";
  };
  if (uris.size() == 1 && !is_local_npy(uris.front())) return open_one(uris.front(), options);
  auto store = make_store_for(uris.front(), options.headers);
  if (!store) return std::unexpected(std::move(store).error());
  auto expanded = expand_list(**store, uris, options.kind);
  if (!expanded) return std::unexpected(std::move(expanded).error());
  const std::string name = name_of_list(uris);
  // One store sends one query to its server, so URLs that are signed each need a store of their own.
  const bool are_signed = std::ranges::any_of(uris, [](const std::string& uri) { return without_secrets(uri) != uri; });
  if (expanded->has_folders || are_signed) {
    std::vector<SourcePtr> parts;
    for (const std::string& uri : uris) {
      auto part = open_one(uri, options);
      if (!part) return part;
      parts.push_back(std::move(*part));
    }
    return mix(std::move(parts), {});
  }
  if (options.kind.empty() && !is_remote(uris.front())) PENSTOCK_CHECK(check_no_volume(expanded->paths.front()));
  const std::string kind = options.kind.empty() ? kind_of_file(expanded->paths.front()) : options.kind;
  if (kind == "tar" || kind == "tfrecord") {
    std::string identity;
    for (const std::string& path : expanded->paths) identity += absolute(path) + "\n";
    return open_shards(std::move(*store), name, identity, kind, std::move(expanded->paths), options);
  }
  if (kind == "manifest" || kind == "zarr")
    return fail(ErrorCode::kUnsupported, fmt::format("a list of {} sources is not read; open each and mix them", kind),
                {name, -1, -1, -1});
  if (is_remote(uris.front()))
    return fail(ErrorCode::kUnsupported, "single images over HTTP want a manifest", {name, -1, -1, -1});
  return open_files(std::move(*store), name, {std::move(expanded->paths), {}, {}}, options);
}

Result<SourcePtr> open_labelled(const LabelledFiles& files, const OpenOptions& options) {
  if (files.paths.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty list");
  if (files.labels.size() != files.paths.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} labels for {} files", files.labels.size(), files.paths.size()));
  for (const std::string& path : files.paths)
    if (is_remote(path))
      return fail(ErrorCode::kUnsupported, "single files over HTTP want a manifest", {without_secrets(path), -1, -1, -1});
  return open_files(std::make_shared<const FileStore>(), name_of_list(files.paths), files, options);
}

// What was opened after whoever waits was called back may lack what could not be read then.
Result<SourcePtr> unless_interrupted(Result<SourcePtr> opened) {
  if (opened) PENSTOCK_CHECK(check_interruption((*opened)->uri()));
  return opened;
}

}  // namespace

Result<SourcePtr> open_source(const std::string& uri, const OpenOptions& options) {
  const OpeningMemory::Begin memory(options.memory_bytes);
  return unless_interrupted(open_one(uri, options));
}

Result<SourcePtr> open_source(const std::vector<std::string>& uris, const OpenOptions& options) {
  const OpeningMemory::Begin memory(options.memory_bytes);
  return unless_interrupted(open_several(uris, options));
}

Result<SourcePtr> open_labelled_files(const LabelledFiles& files, const OpenOptions& options) {
  const OpeningMemory::Begin memory(options.memory_bytes);
  return unless_interrupted(open_labelled(files, options));
}

}  // namespace penstock
