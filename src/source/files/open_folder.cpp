#include "source/files/open_folder.h"

#include <fmt/format.h>

#include "source/files/folder_source.h"
#include "source/index/saved_index.h"
#include "source/source_path.h"

namespace penstock {

Result<FolderShards> find_shards(const Store& store, const std::string& uri, const SourceFormat* requested) {
  using Unit = SourceFormat::Unit;
  const auto entries = store.list(absolute_path(uri));
  if (!entries) return std::unexpected(entries.error());
  FolderShards shards{requested, {}};
  for (const FolderEntry& entry : *entries) {
    if (is_passed_over(entry.name)) continue;
    const SourceFormat* const here = entry.is_folder ? nullptr : source_format_of(entry.name);
    if (requested == nullptr && (entry.is_folder || (here != nullptr && here->unit == Unit::kSample))) return FolderShards{};
    if (here == nullptr || here->unit != Unit::kShard) continue;
    if (shards.format == nullptr) shards.format = here;
    if (here == shards.format) shards.paths.push_back(uri + "/" + entry.name);
  }
  return shards;
}

Result<SourcePtr> open_folder(std::shared_ptr<const Store> store, const std::string& uri, const SourceFormat* requested,
                              const OpenOptions& options) {
  const std::string root = absolute_path(uri);
  if (requested == nullptr || requested->unit == SourceFormat::Unit::kShard) {
    auto shards = find_shards(*store, uri, requested);
    if (!shards) return std::unexpected(std::move(shards).error());
    if (!shards->paths.empty())
      return shards->format->open({std::move(store), uri, uri, root, std::move(shards->paths), false}, options);
    if (requested != nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("no {} shards in this folder", requested->name), {uri, -1, -1, -1});
  }
  FolderSourceOptions folder{uri, root, options.masks.empty() ? "" : absolute_path(options.masks), "", options.warn};
  if (options.keep_index) folder.saved_index_path = saved_index_path(options.cache_dir, folder.root, options.kind);
  if (!folder.saved_index_path.empty())
    if (const auto bytes = read_saved_index(folder.saved_index_path)) {
      auto saved = parse_index(*bytes, folder.root);
      if (saved && index_fits(*store, folder.root, *saved))
        return make_folder_source(std::move(store), std::move(*saved), std::move(folder));
      if (!saved && saved.error().code == ErrorCode::kCorrupt && options.warn)
        options.warn(fmt::format("{}: the saved index {} is damaged and is made anew", uri, folder.saved_index_path));
    }
  auto scanned = scan_folder(*store, folder.root, options.kind, {options.progress});
  if (!scanned) return std::unexpected(std::move(scanned).error());
  if (!folder.saved_index_path.empty()) save_index(folder.saved_index_path, serialise_index(*scanned, folder.root));
  return make_folder_source(std::move(store), std::move(*scanned), std::move(folder));
}

}  // namespace penstock
