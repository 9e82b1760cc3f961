// Completes a data set that was packed in parts: reads the indexes of all shards, checks that they are of one data set
// without gaps, and writes the manifest.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/crc32c.h"
#include "base/memory/opening_memory.h"
#include "pack/pack_folder.h"
#include "pack/zarr/pack_as_zarr.h"
#include "pack/zarr/zarr_pack.h"
#include "penstock/interruption.h"
#include "penstock/pack.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxNamed = 10;  // missing shards that a message names

struct FoundFile {
  std::uint64_t first_sample = 0, samples = 0;
  std::uint32_t field = 0;  // of the description; orders the files of a shard
  PackManifest::File file;
};

struct FoundShards {
  std::string description, index;  // of the first index that was read
  std::map<std::uint64_t, std::vector<FoundFile>> by_number;
};

Result<std::vector<std::string>> names_of_indexes(const PackFolder& folder) {
  std::vector<std::string> names;
  const auto wants = [](std::string_view name, bool is_folder) {
    return !is_folder && name.ends_with(PortableIndex::kEnding);
  };
  const auto listing = folder.store->list(folder.key, {.wants = wants});
  if (!listing) return std::unexpected(listing.error());
  for (const FolderEntry& entry : *listing) names.push_back(entry.name);
  return names;
}

Status add_file(const PackFolder& folder, const std::string& name, FoundShards& found) {
  const std::string key = folder.path(name);
  const auto bytes = read_all(*folder.store, key, PortableIndex::kMaxBytes);
  if (!bytes) return std::unexpected(bytes.error());
  const auto index = PortableIndex::parse(*bytes, key);
  if (!index) return std::unexpected(index.error());
  const std::string shard = name.substr(0, name.size() - PortableIndex::kEnding.size());
  if (index->shard != shard)
    return fail(ErrorCode::kChanged, fmt::format("this is the index of {}, not of {}", index->shard, shard), {key, -1, -1, -1});
  if (found.index.empty()) {
    found.description = index->description;
    found.index = key;
  } else if (found.description != index->description) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("this shard and {} belong to different data sets: they were packed from different sources or "
                            "with different options",
                            found.index),
                {key, -1, -1, -1});
  }
  const auto version = folder.store->stat(folder.path(shard));
  if (!version) return std::unexpected(version.error());
  if (version->size != index->shard_bytes)
    return fail(ErrorCode::kChanged,
                fmt::format("the shard has {} bytes, its index says {}", version->size, index->shard_bytes),
                {folder.path(shard), 0, static_cast<std::int64_t>(version->size), -1});
  found.by_number[index->shard_number].push_back(
      {index->first_sample, index->samples(), index->names.empty() ? 0 : index->names.front().field,
       {shard, index->shard_bytes, index->shard_checksum, name, bytes->size(), crc32c(*bytes)}});
  return {};
}

// Joins the shards to a manifest, if nothing is missing and nothing is there twice.
Result<PackManifest> join_shards(const PackFolder& folder, FoundShards& found) {
  const auto refuse = [&](std::string what) {
    return fail(ErrorCode::kNotFound, std::move(what), {folder.key, -1, -1, -1});
  };
  auto description = PackDescription::parse(found.description, found.index);
  if (!description) return std::unexpected(std::move(description).error());
  PackManifest manifest{std::move(*description), {}};
  const std::size_t files = manifest.description.format == "npy" ? manifest.description.fields.size() : 1;
  std::vector<std::uint64_t> missing;
  for (std::uint64_t number = 0; number < manifest.description.shards && missing.size() <= kMaxNamed; ++number) {
    const auto here = found.by_number.find(number);
    if (here == found.by_number.end() || here->second.size() < files) missing.push_back(number);
  }
  if (!missing.empty()) {
    const bool are_more = missing.size() > kMaxNamed;
    if (are_more) missing.pop_back();
    return refuse(fmt::format("the data set has {} shards; these are missing: {}{}", manifest.description.shards,
                              fmt::join(missing, ", "), are_more ? ", ..." : ""));
  }
  std::uint64_t samples = 0;
  for (auto& [number, of_shard] : found.by_number) {
    if (number >= manifest.description.shards || of_shard.size() > files)
      return refuse(fmt::format("shard {} is there twice: {}", number, of_shard.back().file.name));
    std::ranges::sort(of_shard, {}, &FoundFile::field);
    if (std::ranges::adjacent_find(of_shard, {}, &FoundFile::field) != of_shard.end())
      return refuse(fmt::format("a field of shard {} is there twice: {}", number, of_shard.back().file.name));
    PackManifest::Shard shard{of_shard.front().first_sample, of_shard.front().samples, {}};
    for (FoundFile& one : of_shard) {
      if (one.first_sample != samples || one.samples != shard.samples)
        return refuse(fmt::format("{} does not follow the shard before it", one.file.name));
      shard.files.push_back(std::move(one.file));
    }
    samples += shard.samples;
    manifest.shards.push_back(std::move(shard));
  }
  if (samples != manifest.description.samples)
    return refuse(fmt::format("{} samples, {} were packed", samples, manifest.description.samples));
  return manifest;
}

}  // namespace

Result<PackReport> finish_pack(const std::string& destination, const std::vector<std::string>& headers) {
  const auto began = std::chrono::steady_clock::now();
  const OpeningMemory::Begin opening(0);
  const auto is_zarr = is_zarr_pack(destination, headers);
  if (!is_zarr) return std::unexpected(is_zarr.error());
  if (*is_zarr) return finish_as_zarr(destination, headers);
  const auto folder = open_pack_folder(destination, headers, "shard");
  if (!folder) return std::unexpected(folder.error());
  const auto names = names_of_indexes(*folder);
  if (!names) return std::unexpected(names.error());
  if (names->empty())
    return fail(ErrorCode::kNotFound, "there are no packed shards in this folder", {folder->key, -1, -1, -1});
  FoundShards found;
  for (const std::string& name : *names) {
    PENSTOCK_CHECK(check_interruption(folder->key));
    PENSTOCK_CHECK(add_file(*folder, name, found));
  }
  const auto manifest = join_shards(*folder, found);
  if (!manifest) return std::unexpected(manifest.error());
  auto key = write_manifest(*folder, *manifest);
  if (!key) return std::unexpected(std::move(key).error());
  PackReport report;
  report.samples = manifest->description.samples;
  report.shards_skipped = manifest->shards.size();
  report.manifest = *std::move(key);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return report;
}

}  // namespace penstock
