#include "source/packed/open_packed.h"

#include <fmt/format.h>

#include <utility>

#include "base/memory/opening_memory.h"
#include "source/packed/packed_arrays.h"
#include "source/records/tar_source.h"
#include "source/records/tfrecord_source.h"
#include "store/key_path.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kBytesPerJsonByte = 8;  // of the parsed manifest, while it is read

std::string manifest_of(const std::string& folder) { return folder + "/" + std::string(PackManifest::kName); }

}  // namespace

bool is_pack_manifest_name(std::string_view name) { return name == PackManifest::kName; }

Result<bool> is_packed_folder(const Store& store, const std::string& path) {
  const auto version = store.stat(manifest_of(path));
  if (version) return true;
  if (version.error().code == ErrorCode::kNotFound) return false;
  return std::unexpected(version.error());
}

std::string folder_of_pack(std::string key) {
  const std::string_view name = std::string_view(key).substr(key.rfind('/') + 1);
  if (is_pack_manifest_name(name)) {
    key = split_key(key).folder;
    if (key.empty()) key = ".";
  }
  while (key.size() > 1 && key.ends_with('/') && !key.ends_with("://")) key.pop_back();
  return key;
}

Result<PackManifest> read_pack_manifest(const Store& store, const std::string& folder) {
  const std::string key = manifest_of(folder);
  const auto bytes = read_all(store, key, kMaxManifestBytes);
  if (!bytes) return std::unexpected(bytes.error());
  OpeningReservation reservation;
  PENSTOCK_CHECK(reservation.add(bytes->size() * kBytesPerJsonByte, "the manifest of a packed data set", {key, -1, -1, -1}));
  return PackManifest::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, key);
}

Result<SourcePtr> open_packed(OpenRequest request, const OpenOptions& options) {
  const std::string folder = folder_of_pack(absolute_key(request.paths.front()));
  auto manifest = read_pack_manifest(*request.store, folder);
  if (!manifest) return std::unexpected(std::move(manifest).error());
  const std::string& format = manifest->description.format;
  if (format == "npy") return open_packed_arrays(request.store, request.uri, folder, *manifest, options);
  if (format != "tar" && format != "tfrecord")
    return fail(ErrorCode::kUnsupported, fmt::format("packed as \"{}\", which this build does not read", format),
                {request.uri, -1, -1, -1});
  request.paths.clear();
  for (const PackManifest::Shard& shard : manifest->shards) request.paths.push_back(folder + "/" + shard.files.front().name);
  request.is_alone = false;
  request.description = manifest->description.to_text();
  return format == "tar" ? open_tar(std::move(request), options) : open_tfrecord(std::move(request), options);
}

}  // namespace penstock
