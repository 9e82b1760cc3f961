// Opens what the user named: finds its format, or explains why it cannot be opened.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/memory/opening_memory.h"
#include "base/text/nearest_name.h"
#include "base/text/uri_scheme.h"
#include "penstock/interruption.h"
#include "penstock/source.h"
#include "source/chunked_array.h"
#include "source/files/file_list.h"
#include "source/files/open_folder.h"
#include "source/patches/open_volume.h"
#include "source/path_pattern.h"
#include "source/source_formats.h"
#include "store/key_path.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

std::unexpected<Error> not_there(const Store& store, const std::string& key) {
  constexpr std::size_t kMaxNames = 10'000;
  const SplitKey split = split_key(key);
  const std::string folder = split.folder.empty() ? "." : split.folder;
  const auto as_written = [&](const std::string& name) {
    return split.folder.empty() || split.folder.ends_with('/') ? split.folder + name : split.folder + "/" + name;
  };
  std::string hint;
  const auto kind = store.kind_of(folder);
  if (kind && *kind == KeyKind::kNothing) {
    hint = fmt::format(" (there is no folder {})", without_secrets(folder));
  } else {
    std::vector<std::string> names;
    const auto take = [&](std::string_view name, bool) {
      if (names.size() < kMaxNames) names.emplace_back(name);
      return false;
    };
    const auto go_on = [&](const Listing&) -> Result<bool> { return names.size() < kMaxNames; };
    // A folder that cannot be listed gives no hint.
    static_cast<void>(store.list_pages(folder, {.wants = take}, go_on));
    if (const auto near = nearest_name(split.name, names))
      hint = fmt::format(" (did you mean {}?)", without_secrets(as_written(*near)));
  }
  return fail(ErrorCode::kNotFound, "no such file or folder" + hint, {without_secrets(key), -1, -1, -1});
}

// The name of a folder without the slash at its end, so that names can be appended. Paths stay as the user wrote them.
std::string without_last_slash(const Store& store, std::string key) {
  while (!store.traits().is_local && key.ends_with('/') && !key.ends_with("://")) key.pop_back();
  return key;
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
    if (uri.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty string");
    if (!have_same_kind_of_store(uri, uris.front()))
      return fail(ErrorCode::kUnsupported,
                  fmt::format("{} in one list; open each of them and mix them",
                              is_url(uri) && is_url(uris.front()) ? "URLs of several kinds of stores" : "files and URLs"),
                  {without_secrets(uri), -1, -1, -1});
    // A store that cannot list is not asked what a name is: its objects are read one by one anyway.
    const bool can_list = store.traits().can_list;
    const std::string key = can_list ? without_last_slash(store, object_key(uri)) : uri;
    const auto kind = can_list ? store.kind_of(key) : KeyKind::kObject;
    if (!kind) return std::unexpected(kind.error());
    std::vector<std::string> found = {key};
    if (*kind == KeyKind::kFolder) {
      const bool is_of_samples = requested != nullptr && requested->unit == SourceFormat::Unit::kSample;
      auto shards = find_shards(store, key, is_of_samples ? nullptr : requested);
      if (!shards) return std::unexpected(std::move(shards).error());
      list.has_folders = list.has_folders || shards->paths.empty();
      found = std::move(shards->paths);
    } else if (is_pattern(key) && (*kind == KeyKind::kNothing || !can_list)) {
      auto matches = expand_pattern(store, key);
      if (!matches) return std::unexpected(std::move(matches).error());
      found = std::move(*matches);
    } else if (*kind == KeyKind::kNothing) {
      return not_there(store, key);
    }
    list.paths.insert(list.paths.end(), found.begin(), found.end());
  }
  return list;
}

// A TIFF file of several pages is a volume, whose samples are patches that only the user can choose. Where there are
// several files the first one decides, as for other formats, so that a file means the same alone, in a list and in a
// pattern. Files of one page, and files that cannot be read as a volume, are left to the readers of images.
Status check_no_volume(const std::string& uri, const OpenOptions& options) {
  if (!is_tiff_name(uri)) return {};
  PatchOptions patches;
  patches.headers = options.headers;
  const auto volume = open_volume(uri, VolumeUse::kMask, patches);
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

// Where a store cannot list, a name is one object, a brace pattern, or a Zarr hierarchy.
Result<SourcePtr> open_unlisted(OpenRequest request, const SourceFormat* requested, const OpenOptions& options) {
  const std::string key = request.paths.front();
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
    if (candidate.unit != SourceFormat::Unit::kFolder || candidate.needs_listing) continue;
    auto opened = candidate.open(request, options);
    if (opened || opened.error().code != ErrorCode::kNotFound) return opened;
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("nothing there that is known: over HTTP this version reads {} (several are named one by one or "
                          "as in {{000..099}})",
                          describe_source_formats(false)),
              {request.uri, -1, -1, -1});
}

// Where a store can list, a name may also be a folder or a pattern with wildcards, and what it is can be found out.
Result<SourcePtr> open_listed(OpenRequest request, const SourceFormat* requested, const OpenOptions& options) {
  using Unit = SourceFormat::Unit;
  const Store& store = *request.store;
  const std::string key = request.paths.front();
  if (requested != nullptr && requested->unit == Unit::kFolder) return requested->open(std::move(request), options);
  const auto kind = store.kind_of(key);
  if (!kind) return std::unexpected(kind.error());
  const bool is_folder = *kind == KeyKind::kFolder;
  if (requested == nullptr && is_folder) {
    const auto format = source_format_of_folder(store, key);
    if (!format) return std::unexpected(format.error());
    if (*format != nullptr) return (*format)->open(std::move(request), options);
  }
  if (is_folder && (requested == nullptr || requested->unit != Unit::kObject))
    return open_folder(std::move(request), requested, options);
  // A name that exists is taken literally, whatever characters it has.
  request.is_alone = *kind != KeyKind::kNothing;
  if (!request.is_alone && !is_pattern(key)) return not_there(store, key);
  if (!request.is_alone) {
    auto expanded = expand_pattern(store, key);
    if (!expanded) return std::unexpected(std::move(expanded).error());
    request.paths = std::move(*expanded);
  }
  const std::string& first = request.paths.front();
  if (requested == nullptr) PENSTOCK_CHECK(check_no_volume(first, options));
  const SourceFormat* format = requested != nullptr ? requested : source_format_of(first);
  if (format == nullptr && !request.is_alone) {
    const auto kind_of_first = store.kind_of(first);
    if (!kind_of_first) return std::unexpected(kind_of_first.error());
    const auto of_folder = *kind_of_first == KeyKind::kFolder ? source_format_of_folder(store, first) : nullptr;
    if (!of_folder) return std::unexpected(of_folder.error());
    format = *of_folder;
  }
  if (format != nullptr) return format->open(std::move(request), options);
  if (request.is_alone)
    return fail(ErrorCode::kUnsupported,
                fmt::format("not known by its name; this version reads {} (kind= says what it is); volumes are opened by "
                            "ps.Patches",
                            describe_source_formats(true)),
                {request.uri, -1, -1, -1});
  return open_file_list(std::move(request.store), request.uri, {std::move(request.paths), {}, {}}, options);
}

Result<SourcePtr> open_one(const std::string& given, const OpenOptions& options) {
  const SourceFormat* const requested = source_format_named(options.kind);
  if (!options.kind.empty() && requested == nullptr)
    return fail(ErrorCode::kInvalidArgument, fmt::format("kind=\"{}\" is not known; there are {}", options.kind,
                                                         fmt::join(source_format_names(), ", ")));
  if (given.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty string");
  auto store = make_store_for(given, options.headers);
  if (!store) return std::unexpected(std::move(store).error());
  const bool can_list = (*store)->traits().can_list;
  const std::string key = can_list ? without_last_slash(**store, object_key(given)) : object_key(given);
  OpenRequest request{*std::move(store), given, without_secrets(given), absolute_key(key), {key}, true};
  return can_list ? open_listed(std::move(request), requested, options)
                  : open_unlisted(std::move(request), requested, options);
}

// Alone, a .npy file is an array of samples; in a list it is one sample, however long the list is. A store that cannot
// list reads no lists of samples.
bool is_sample_of_list(const std::string& uri, const SourceFormat* requested, const OpenOptions& options) {
  const SourceFormat* const format = requested != nullptr ? requested : source_format_of(uri);
  if (format == nullptr || format->unit != SourceFormat::Unit::kSample) return false;
  const auto store = make_store_for(uri, options.headers);
  if (!store || !(*store)->traits().can_list) return false;
  const auto kind = (*store)->kind_of(object_key(uri));
  return kind && *kind == KeyKind::kObject;
}

Result<SourcePtr> open_several(const std::vector<std::string>& uris, const OpenOptions& options) {
  using Unit = SourceFormat::Unit;
  if (uris.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty list");
  const SourceFormat* const requested = source_format_named(options.kind);
  if (uris.size() == 1 && !is_sample_of_list(uris.front(), requested, options)) return open_one(uris.front(), options);
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
  const bool can_list = (*store)->traits().can_list;
  if (requested == nullptr && can_list) PENSTOCK_CHECK(check_no_volume(expanded->paths.front(), options));
  const SourceFormat* const format = requested != nullptr ? requested : source_format_of(expanded->paths.front());
  const std::string name = name_of_list(uris);
  if (format != nullptr && (format->unit == Unit::kObject || format->unit == Unit::kFolder))
    return fail(ErrorCode::kUnsupported,
                fmt::format("a list of {} sources is not read; open each and mix them", format->name),
                {name, -1, -1, -1});
  OpenRequest request{std::move(*store), uris.front(), name, {}, std::move(expanded->paths), false};
  for (const std::string& path : request.paths) request.identity += absolute_key(path) + "\n";
  return format != nullptr ? format->open(std::move(request), options)
                           : open_image_files(std::move(request), options);
}

Result<SourcePtr> open_labelled(const LabelledFiles& files, const OpenOptions& options) {
  if (files.paths.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty list");
  if (files.labels.size() != files.paths.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} labels for {} files", files.labels.size(), files.paths.size()));
  auto store = make_store_for(files.paths.front(), options.headers);
  if (!store) return std::unexpected(std::move(store).error());
  for (const std::string& path : files.paths)
    if (!(*store)->traits().can_list || !have_same_kind_of_store(path, files.paths.front()))
      return fail(ErrorCode::kUnsupported, "single files over HTTP want a manifest", {without_secrets(path), -1, -1, -1});
  return open_file_list(*std::move(store), name_of_list(files.paths), files, options);
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
