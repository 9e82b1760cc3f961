#include "source/files/open_folder.h"

#include <fmt/format.h>

#include "source/files/folder_source.h"
#include "source/index/saved_index.h"
#include "store/key_path.h"

namespace penstock {

Result<FolderShards> find_shards(const Store& store, const std::string& folder, const SourceFormat* requested) {
  using Unit = SourceFormat::Unit;
  FolderShards shards{requested, {}};
  bool is_of_samples = false;
  const auto may_be_shard = [&](std::string_view name, bool is_folder) {
    if (is_of_samples || is_passed_over(name)) return false;
    const SourceFormat* const here = is_folder ? nullptr : source_format_of(std::string(name));
    is_of_samples = requested == nullptr && (is_folder || (here != nullptr && here->unit == Unit::kSample));
    return !is_of_samples && here != nullptr && here->unit == Unit::kShard;
  };
  const auto listed = store.list_pages(folder, {.wants = may_be_shard}, [&](Listing page) -> Result<bool> {
    for (const FolderEntry& entry : page) {
      const SourceFormat* const here = source_format_of(entry.name);
      if (shards.format == nullptr) shards.format = here;
      if (here == shards.format) shards.paths.push_back(folder + "/" + entry.name);
    }
    return !is_of_samples;
  });
  if (!listed) return std::unexpected(listed.error());
  return is_of_samples ? FolderShards{} : shards;
}

Result<SourcePtr> open_folder(OpenRequest request, const SourceFormat* requested, const OpenOptions& options) {
  const std::shared_ptr<const Store> store = request.store;
  const std::string uri = request.uri, path = request.paths.front();
  if (requested == nullptr || requested->unit == SourceFormat::Unit::kShard) {
    auto shards = find_shards(*store, path, requested);
    if (!shards) return std::unexpected(std::move(shards).error());
    if (!shards->paths.empty()) {
      request.paths = std::move(shards->paths);
      request.is_alone = false;
      return shards->format->open(std::move(request), options);
    }
    if (requested != nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("no {} shards in this folder", requested->name), {uri, -1, -1, -1});
  }
  FolderSourceOptions folder;
  folder.uri = uri;
  folder.root = absolute_key(path);
  folder.warn = options.warn;
  PENSTOCK_CHECK(find_masks_folder(*store, options, folder));
  if (options.keep_index && store->traits().has_folder_times)
    folder.saved_index_path = saved_index_path(options.cache_dir, folder.root, options.kind);
  if (!folder.saved_index_path.empty())
    if (const auto bytes = read_saved_index(folder.saved_index_path)) {
      auto saved = parse_index(*bytes, folder.root);
      if (saved && index_fits(*store, folder.root, *saved))
        return make_folder_source(store, std::move(*saved), std::move(folder));
      if (!saved && saved.error().code == ErrorCode::kCorrupt && options.warn)
        options.warn(fmt::format("{}: the saved index {} is damaged and is made anew", uri, folder.saved_index_path));
    }
  auto scanned = scan_folder(*store, folder.root, options.kind, {options.progress});
  if (!scanned) return std::unexpected(std::move(scanned).error());
  if (!folder.saved_index_path.empty()) save_index(folder.saved_index_path, serialise_index(*scanned, folder.root));
  return make_folder_source(store, std::move(*scanned), std::move(folder));
}

}  // namespace penstock
