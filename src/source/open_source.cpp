// Opens what the user named: finds its format, or explains why it cannot be opened.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/memory/opening_memory.h"
#include "base/text/nearest_name.h"
#include "penstock/interruption.h"
#include "penstock/source.h"
#include "source/chunked_array.h"
#include "source/files/file_list.h"
#include "source/files/open_folder.h"
#include "source/patches/open_volume.h"
#include "source/path_pattern.h"
#include "source/source_formats.h"
#include "source/source_path.h"
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

std::string name_of_list(const std::vector<std::string>& uris) {
  const std::string first = without_secrets(uris.front());
  return uris.size() == 1 ? first : fmt::format("{} and {} more", first, uris.size() - 1);
}

struct ExpandedList {
  std::vector<std::string> paths;
  bool has_folders = false;  // folders that hold anything but shards
};

// Replaces patterns and folders of shards by their files and keeps the order of the list.
Result<ExpandedList> expand_list(const Store& store, const std::vector<std::string>& uris,
                                 const SourceFormat* requested) {
  ExpandedList list;
  for (const std::string& uri : uris) {
    std::error_code error;
    if (uri.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty string");
    if (is_remote(uri) != is_remote(uris.front()))
      return fail(ErrorCode::kUnsupported, "files and URLs in one list; open each of them and mix them",
                  {without_secrets(uri), -1, -1, -1});
    const fs::file_status status = is_remote(uri) ? fs::file_status() : fs::status(uri, error);
    std::vector<std::string> found = {uri};
    if (fs::is_directory(status)) {
      const bool is_of_samples = requested != nullptr && requested->unit == SourceFormat::Unit::kSample;
      auto shards = find_shards(store, uri, is_of_samples ? nullptr : requested);
      if (!shards) return std::unexpected(std::move(shards).error());
      list.has_folders = list.has_folders || shards->paths.empty();
      found = std::move(shards->paths);
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

// A TIFF file of several pages is a volume, whose samples are patches that only the user can choose. Where there are
// several files the first one decides, as for other formats, so that a file means the same alone, in a list and in a
// pattern. Files of one page, and files that cannot be read as a volume, are left to the readers of images.
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

// A server cannot be listed, so a URL names one object, a brace pattern, or a Zarr hierarchy.
Result<SourcePtr> open_remote(const std::string& given, const SourceFormat* requested, const OpenOptions& options) {
  auto store = make_store_for(given, options.headers);
  if (!store) return std::unexpected(std::move(store).error());
  const std::string key = object_key(given);
  OpenRequest request{std::move(*store), given, without_secrets(given), key, {key}, true};
  if (key.find('{') != std::string::npos) {
    auto expanded = expand_pattern(*request.store, key);
    if (!expanded) return std::unexpected(std::move(expanded).error());
    request.paths = std::move(*expanded);
    request.is_alone = request.paths.size() == 1;
  }
  const SourceFormat* const format = requested != nullptr ? requested : source_format_of(request.paths.front());
  if (format != nullptr) return format->open(std::move(request), options);
  // The name of a Zarr hierarchy has no known ending, so only opening it shows whether it exists.
  for (const SourceFormat& candidate : source_formats()) {
    if (candidate.unit != SourceFormat::Unit::kFolder || !candidate.reads_urls) continue;
    auto opened = candidate.open(request, options);
    if (opened || opened.error().code != ErrorCode::kNotFound) return opened;
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("nothing there that is known: over HTTP this version reads {} (several are named one by one or "
                          "as in {{000..099}})",
                          describe_source_formats(true)),
              {request.uri, -1, -1, -1});
}

Result<SourcePtr> open_one(const std::string& uri, const OpenOptions& options) {
  using Unit = SourceFormat::Unit;
  const SourceFormat* const requested = source_format_named(options.kind);
  if (!options.kind.empty() && requested == nullptr)
    return fail(ErrorCode::kInvalidArgument, fmt::format("kind=\"{}\" is not known; there are {}", options.kind,
                                                         fmt::join(source_format_names(), ", ")));
  if (uri.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty string");
  if (is_remote(uri)) return open_remote(uri, requested, options);
  OpenRequest request{std::make_shared<const FileStore>(), uri, uri, absolute_path(uri), {uri}, true};
  if (requested != nullptr && requested->unit == Unit::kFolder) return requested->open(std::move(request), options);
  std::error_code error;
  const fs::file_status status = fs::status(uri, error);
  if (requested == nullptr && fs::is_directory(status)) {
    const auto format = source_format_of_folder(*request.store, uri);
    if (!format) return std::unexpected(format.error());
    if (*format != nullptr) return (*format)->open(std::move(request), options);
  }
  if (fs::is_directory(status) && (requested == nullptr || requested->unit != Unit::kObject))
    return open_folder(std::move(request.store), uri, requested, options);
  request.is_alone = fs::exists(status);
  if (request.is_alone) {
    // The name is taken literally, whatever characters it has.
  } else if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
    return fail(error == std::errc::permission_denied ? ErrorCode::kNoAccess : ErrorCode::kIo,
                fmt::format("cannot look at it ({})", error.message()), {uri, -1, -1, -1});
  } else if (is_pattern(uri)) {
    auto expanded = expand_pattern(*request.store, uri);
    if (!expanded) return std::unexpected(std::move(expanded).error());
    request.paths = std::move(*expanded);
  } else {
    return not_there(uri);
  }
  const std::string& first = request.paths.front();
  if (requested == nullptr) PENSTOCK_CHECK(check_no_volume(first));
  const SourceFormat* format = requested != nullptr ? requested : source_format_of(first);
  if (format == nullptr && !request.is_alone && fs::is_directory(first)) {
    const auto of_folder = source_format_of_folder(*request.store, first);
    if (!of_folder) return std::unexpected(of_folder.error());
    format = *of_folder;
  }
  if (format != nullptr) return format->open(std::move(request), options);
  if (request.is_alone)
    return fail(ErrorCode::kUnsupported,
                fmt::format("not known by its name; this version reads {} (kind= says what it is); volumes are opened by "
                            "ps.Patches",
                            describe_source_formats(false)),
                {uri, -1, -1, -1});
  return open_file_list(std::move(request.store), uri, {std::move(request.paths), {}, {}}, options);
}

Result<SourcePtr> open_several(const std::vector<std::string>& uris, const OpenOptions& options) {
  using Unit = SourceFormat::Unit;
  if (uris.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty list");
  const SourceFormat* const requested = source_format_named(options.kind);
  // Alone, a .npy file is an array of samples; in a list it is one sample, however long the list is.
  const auto is_local_sample = [&](const std::string& uri) {
    std::error_code ignored;
    const SourceFormat* const format = requested != nullptr ? requested : source_format_of(uri);
    return !is_remote(uri) && fs::is_regular_file(uri, ignored) && format != nullptr && format->unit == Unit::kSample;
  };
  if (uris.size() == 1 && !is_local_sample(uris.front())) return open_one(uris.front(), options);
  auto store = make_store_for(uris.front(), options.headers);
  if (!store) return std::unexpected(std::move(store).error());
  auto expanded = expand_list(**store, uris, requested);
  if (!expanded) return std::unexpected(std::move(expanded).error());
  // One store sends one query to its server, so each signed URL needs a store of its own.
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
  if (requested == nullptr && !is_remote(uris.front())) PENSTOCK_CHECK(check_no_volume(expanded->paths.front()));
  const SourceFormat* const format = requested != nullptr ? requested : source_format_of(expanded->paths.front());
  const std::string name = name_of_list(uris);
  if (format != nullptr && (format->unit == Unit::kObject || format->unit == Unit::kFolder))
    return fail(ErrorCode::kUnsupported,
                fmt::format("a list of {} sources is not read; open each and mix them", format->name),
                {name, -1, -1, -1});
  OpenRequest request{std::move(*store), uris.front(), name, {}, std::move(expanded->paths), false};
  for (const std::string& path : request.paths) request.identity += absolute_path(path) + "\n";
  return format != nullptr ? format->open(std::move(request), options)
                           : open_image_files(std::move(request), options);
}

Result<SourcePtr> open_labelled(const LabelledFiles& files, const OpenOptions& options) {
  if (files.paths.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty list");
  if (files.labels.size() != files.paths.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} labels for {} files", files.labels.size(), files.paths.size()));
  for (const std::string& path : files.paths)
    if (is_remote(path))
      return fail(ErrorCode::kUnsupported, "single files over HTTP want a manifest", {without_secrets(path), -1, -1, -1});
  return open_file_list(std::make_shared<const FileStore>(), name_of_list(files.paths), files, options);
}

// A source that was opened while an interruption was requested may lack the parts that could not be read.
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
