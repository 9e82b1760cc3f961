#include "pack/pack_folder.h"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "base/text/public_uri.h"
#include "store/key_path.h"
#include "store/object_key.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

constexpr auto kAbandonedAfter = std::chrono::minutes(10);

// The process that writes "shard-000000.tar.1234-0.tmp"; 0 if the name is another.
int process_of_temporary(std::string_view name) {
  constexpr std::string_view kTemporary = ".tmp";
  if (!name.ends_with(kTemporary)) return 0;
  name.remove_suffix(kTemporary.size());
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return 0;
  int process = 0;
  const auto [end, error] = std::from_chars(name.data() + dot + 1, name.data() + name.size(), process);
  return error == std::errc{} && end != name.data() + name.size() && *end == '-' ? process : 0;
}

}  // namespace

Result<PackFolder> open_pack_folder(const std::string& destination, const std::vector<std::string>& headers,
                                    std::string name) {
  const auto refuse = [&](std::string what) {
    return fail(ErrorCode::kInvalidArgument, std::move(what), {without_secrets(destination), -1, -1, -1});
  };
  if (destination.empty()) return refuse("the destination is an empty string");
  if (name.empty() || name.contains('/') || name.starts_with('.'))
    return refuse(fmt::format("\"{}\" cannot be the name of shards", name));
  auto store = make_store_for(destination, headers);
  if (!store) return std::unexpected(std::move(store).error());
  if (!(*store)->traits().can_write)
    return fail(ErrorCode::kUnsupported, "this store cannot be written to", {without_secrets(destination), -1, -1, -1});
  std::string key = absolute_key(object_key(destination));
  while (key.size() > 1 && key.ends_with('/') && !key.ends_with("://")) key.pop_back();
  return PackFolder{*std::move(store), std::move(key), std::move(name)};
}

void remove_abandoned_files(const PackFolder& folder) {
  if (!folder.store->traits().is_local) return;
  std::error_code ignored;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& entry : std::filesystem::directory_iterator(folder.key, ignored)) {
    const std::string name = entry.path().filename();
    const int process = process_of_temporary(name);
    if (process <= 0 || !name.contains(folder.name + "-") || (kill(process, 0) == 0 || errno != ESRCH)) continue;
    const auto changed = entry.last_write_time(ignored);
    if (!ignored && now - changed > kAbandonedAfter) std::filesystem::remove(entry.path(), ignored);
  }
}

Result<std::string> write_manifest(const PackFolder& folder, const PackManifest& manifest) {
  const std::string key = folder.path(std::string(PackManifest::kName)), text = manifest.to_text();
  auto writer = folder.store->create(key);
  if (!writer) return std::unexpected(std::move(writer).error());
  PENSTOCK_CHECK((*writer)->write(as_bytes(text.data(), text.size())));
  PENSTOCK_CHECK((*writer)->commit());
  return key;
}

}  // namespace penstock
