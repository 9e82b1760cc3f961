#include "source/packed/pack_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/crc32c.h"

namespace penstock {
namespace {

using ManifestJson = nlohmann::ordered_json;

constexpr std::string_view kManifestFormat = "penstock-pack";
constexpr std::uint64_t kManifestVersion = 1;

std::unexpected<Error> bad_manifest(std::string what, const std::string& uri) {
  return fail(ErrorCode::kCorrupt, "packed data set: " + std::move(what), {uri, -1, -1, -1});
}

std::string hex_of(std::uint32_t checksum) { return fmt::format("{:08x}", checksum); }

std::optional<std::uint32_t> checksum_of(const ManifestJson& object, std::string_view key) {
  const ManifestJson* const text = find_text(object, key);
  if (text == nullptr) return std::nullopt;
  const auto& digits = text->get_ref<const std::string&>();
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// The checksum of the rest of the manifest, in the form in which it is written.
std::string checksum_of_rest(ManifestJson json) {
  json.erase("crc32c");
  const std::string text = json.dump(-1, ' ', false, ManifestJson::error_handler_t::replace);
  return hex_of(crc32c(as_bytes(text.data(), text.size())));
}

bool is_name_beside(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && !name.contains('/') && !name.contains('\0');
}

Result<PackManifest::File> file_of(const ManifestJson& json, const std::string& uri) {
  if (!json.is_object()) return bad_manifest("a file is not an object", uri);
  const ManifestJson *name = find_text(json, "name"), *bytes = find_count(json, "bytes"), *index = find_text(json, "index"),
                     *index_bytes = find_count(json, "index_bytes");
  const auto checksum = checksum_of(json, "crc32c"), index_checksum = checksum_of(json, "index_crc32c");
  if (name == nullptr || bytes == nullptr || index == nullptr || index_bytes == nullptr || !checksum || !index_checksum)
    return bad_manifest("a file lacks its name, size or checksum", uri);
  PackManifest::File file{name->get<std::string>(),  bytes->get<std::uint64_t>(),       *checksum,
                          index->get<std::string>(), index_bytes->get<std::uint64_t>(), *index_checksum};
  if (!is_name_beside(file.name) || !is_name_beside(file.index))
    return bad_manifest(fmt::format("\"{}\" is no file beside the manifest", file.name), uri);
  return file;
}

Result<PackManifest::Shard> shard_of(const ManifestJson& json, const std::string& uri) {
  if (!json.is_object()) return bad_manifest("a shard is not an object", uri);
  const ManifestJson *first = find_count(json, "first_sample"), *samples = find_count(json, "samples"),
                     *files = find_list(json, "files");
  if (first == nullptr || samples == nullptr || files == nullptr || files->empty())
    return bad_manifest("a shard lacks its samples or files", uri);
  PackManifest::Shard shard{first->get<std::uint64_t>(), samples->get<std::uint64_t>(), {}};
  for (const ManifestJson& one : *files) {
    auto file = file_of(one, uri);
    if (!file) return std::unexpected(std::move(file).error());
    shard.files.push_back(std::move(*file));
  }
  return shard;
}

}  // namespace

std::string PackManifest::to_text() const {
  ManifestJson json = {{"format", kManifestFormat},
                       {"version", kManifestVersion},
                       {"data", description.to_json()},
                       {"shards", ManifestJson::array()}};
  for (const Shard& shard : shards) {
    ManifestJson one = {
        {"first_sample", shard.first_sample}, {"samples", shard.samples}, {"files", ManifestJson::array()}};
    for (const File& file : shard.files)
      one["files"].push_back({{"name", file.name},
                              {"bytes", file.bytes},
                              {"crc32c", hex_of(file.checksum)},
                              {"index", file.index},
                              {"index_bytes", file.index_bytes},
                              {"index_crc32c", hex_of(file.index_checksum)}});
    json["shards"].push_back(std::move(one));
  }
  json["crc32c"] = checksum_of_rest(json);
  return json.dump(1, ' ', false, ManifestJson::error_handler_t::replace) + "\n";
}

Result<PackManifest> PackManifest::parse(std::string_view text, const std::string& uri) {
  const auto json = parse_pack_json(text, uri);
  if (!json) return std::unexpected(json.error());
  const ManifestJson *format = find_text(*json, "format"), *version = find_count(*json, "version"),
                     *checksum = find_text(*json, "crc32c"), *shards = find_list(*json, "shards");
  if (format == nullptr || format->get_ref<const std::string&>() != kManifestFormat || version == nullptr)
    return bad_manifest("this is not its manifest", uri);
  if (version->get<std::uint64_t>() != kManifestVersion)
    return fail(ErrorCode::kUnsupported,
                fmt::format("packed data set: version {}, this build reads {}", version->get<std::uint64_t>(),
                            kManifestVersion),
                {uri, -1, -1, -1});
  if (checksum == nullptr || checksum->get_ref<const std::string&>() != checksum_of_rest(*json))
    return bad_manifest("the checksum of the manifest is wrong", uri);
  const auto data = json->find("data");
  if (data == json->end() || shards == nullptr) return bad_manifest("the manifest is not complete", uri);
  PackManifest manifest;
  auto description = PackDescription::from_json(*data, uri);
  if (!description) return std::unexpected(std::move(description).error());
  manifest.description = std::move(*description);
  std::uint64_t samples = 0;
  for (const ManifestJson& one : *shards) {
    auto shard = shard_of(one, uri);
    if (!shard) return std::unexpected(std::move(shard).error());
    if (shard->first_sample != samples || shard->samples > manifest.description.samples - samples)
      return bad_manifest(fmt::format("shard {} does not follow the one before it", manifest.shards.size()), uri);
    samples += shard->samples;
    manifest.shards.push_back(std::move(*shard));
  }
  if (samples != manifest.description.samples || manifest.shards.size() != manifest.description.shards)
    return bad_manifest(fmt::format("{} samples in {} shards, where there should be {} in {}", samples,
                                    manifest.shards.size(), manifest.description.samples, manifest.description.shards),
                        uri);
  return manifest;
}

}  // namespace penstock
