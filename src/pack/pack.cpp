#include "penstock/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/machine.h"
#include "base/memory/opening_memory.h"
#include "pack/pack_folder.h"
#include "pack/pack_run.h"
#include "pack/packed_fields.h"
#include "pack/shard_split.h"
#include "pack/zarr/pack_as_zarr.h"
#include "penstock/interruption.h"
#include "source/combine/subset.h"
#include "source/packed/open_packed.h"

namespace penstock {
namespace {

using PackClock = std::chrono::steady_clock;

constexpr std::array<std::pair<std::string_view, PackFormat>, 4> kFormatNames = {
    {{"tar", PackFormat::kTar}, {"tfrecord", PackFormat::kTFRecord}, {"npy", PackFormat::kNpy}, {"zarr", PackFormat::kZarr}}};
constexpr std::uint64_t kMinShardBytes = 1;
constexpr unsigned kCopyingThreads = 16;
constexpr std::uint64_t kMaxShards = 1'000'000;  // as many as six digits count

std::unique_ptr<FormatOfPack> make_format(PackFormat format, const PackDescription& description) {
  switch (format) {
    case PackFormat::kTar: return make_tar_format(description);
    case PackFormat::kTFRecord: return make_tfrecord_format(description);
    case PackFormat::kNpy: return make_npy_format(description);
    case PackFormat::kZarr: break;  // it has no shards of this kind
  }
  return nullptr;
}

Status check_options(const PackOptions& options) {
  const auto refuse = [](std::string what) { return fail(ErrorCode::kInvalidArgument, std::move(what)); };
  if (options.parts == 0 || options.part >= options.parts)
    return refuse(fmt::format("part {} of {}: parts count from 0", options.part, options.parts));
  if (options.shard_bytes < kMinShardBytes) return refuse("the size of shards is 0");
  if (options.jpeg_quality < 1 || options.jpeg_quality > 100)
    return refuse(fmt::format("quality {}: it goes from 1 to 100", options.jpeg_quality));
  return {};
}

// Fails if the folder holds the manifest of another data set. Returns whether it holds that of this one.
Result<bool> has_manifest(const PackFolder& folder, const std::string& description) {
  const auto manifest = read_pack_manifest(*folder.store, folder.key);
  if (!manifest && manifest.error().code == ErrorCode::kNotFound) return false;
  if (!manifest && manifest.error().code == ErrorCode::kCorrupt) return false;  // it is written anew
  if (!manifest) return std::unexpected(manifest.error());
  if (manifest->description.to_text() == description) return true;
  return fail(ErrorCode::kInvalidArgument,
              "the folder holds a data set that was packed from another source or with other options; remove it, or pack "
              "into another folder",
              {folder.path(std::string(PackManifest::kName)), -1, -1, -1});
}

// Threads that only copy wait for the file system most of the time, and on a cluster every file that is opened costs a
// round trip. So there are more of them than cores.
unsigned default_threads(const PackedFields& fields) {
  const bool decodes = std::ranges::any_of(fields.works, [](const FieldWork& work) {
    return work.way == FieldWork::Way::kMade || work.adds_restarts;
  });
  return decodes ? usable_cpus() : std::max(usable_cpus(), kCopyingThreads);
}

// The samples of these shards, in the order in which they are packed.
Result<SourcePtr> samples_of(const SourcePtr& source, const PackOrder& order, bool is_shuffled,
                             const std::vector<ShardOutput::Place>& shards) {
  std::uint64_t samples = 0;
  for (const ShardOutput::Place& shard : shards) samples += shard.samples;
  if (!is_shuffled && samples == source->size()) return source;
  std::vector<std::uint64_t> indices;
  indices.reserve(samples);
  for (const ShardOutput::Place& shard : shards)
    for (std::uint64_t i = 0; i < shard.samples; ++i) indices.push_back(order.sample_at(shard.first_sample + i));
  return choose_samples(source, std::move(indices));
}

}  // namespace

std::optional<PackFormat> pack_format_named(std::string_view name) {
  const auto found = std::ranges::find(kFormatNames, name, &std::pair<std::string_view, PackFormat>::first);
  return found == kFormatNames.end() ? std::nullopt : std::optional(found->second);
}

std::string_view name_of(PackFormat format) {
  return std::ranges::find(kFormatNames, format, &std::pair<std::string_view, PackFormat>::second)->first;
}

Result<PackReport> pack(SourcePtr source, const std::string& destination, const PackOptions& options) {
  const auto began = PackClock::now();
  const OpeningMemory::Begin opening(options.memory_bytes);
  PENSTOCK_CHECK(check_options(options));
  if (options.format == PackFormat::kZarr) return pack_as_zarr(source, destination, options);
  auto folder = open_pack_folder(destination, options.headers, options.name);
  if (!folder) return std::unexpected(std::move(folder).error());
  const std::uint64_t memory = options.memory_bytes != 0 ? options.memory_bytes : default_memory_bytes(1);
  auto fields = plan_packed_fields(source, options, memory);
  if (!fields) return std::unexpected(std::move(fields).error());
  const auto format = make_format(options.format, fields->description);

  const PackOrder order(source->size(), options.shuffle_seed);
  // The rows of .npy files have the size of decoded values, which the first sample showed.
  const std::uint64_t row_bytes = options.format == PackFormat::kNpy ? fields->probed_bytes : 0;
  const auto split = split_into_shards(*source, order, options.shard_bytes, format->overhead_bytes(), row_bytes);
  if (!split) return std::unexpected(split.error());
  if (split->shards() > kMaxShards)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} shards, at most {} are made: choose a larger size of shards", split->shards(), kMaxShards));
  fields->description.shards = split->shards();
  const std::string description = fields->description.to_text();
  const auto is_complete = has_manifest(*folder, description);
  if (!is_complete) return std::unexpected(is_complete.error());
  remove_abandoned_files(*folder);

  PackReport report;
  const ShardRange range = shards_of_part(split->shards(), options.part, options.parts);
  PackManifest manifest{fields->description, std::vector<PackManifest::Shard>(split->shards())};
  std::vector<ShardOutput::Place> missing;
  std::uint64_t samples_found = 0;
  for (std::uint64_t shard = range.first; shard < range.last; ++shard) {
    PENSTOCK_CHECK(check_interruption(folder->key));
    const std::uint64_t first = split->first_positions[shard];
    const ShardOutput::Place place{shard, first, split->first_positions[shard + 1] - first};
    report.samples += place.samples;
    auto found = find_finished(*folder, *format, description, place);
    if (!found) return std::unexpected(std::move(found).error());
    if (*found) {
      manifest.shards[shard] = std::move(**found);
      samples_found += place.samples;
      ++report.shards_skipped;
    } else {
      missing.push_back(place);
    }
  }

  const unsigned threads = options.threads != 0 ? options.threads : default_threads(*fields);
  report.threads = static_cast<unsigned>(std::clamp<std::uint64_t>(report.samples, 1, threads));
  if (!missing.empty()) {
    auto chosen = samples_of(source, order, options.shuffle_seed.has_value(), missing);
    if (!chosen) return std::unexpected(std::move(chosen).error());
    const PackJob job{*std::move(chosen), *fields, *format, *folder, description, missing, report.threads, memory};
    const auto progress = [&](std::uint64_t samples, std::uint64_t bytes) {
      return !options.progress || options.progress({samples_found + samples, report.samples, bytes});
    };
    auto written = run_pack(job, progress);
    if (!written) return std::unexpected(std::move(written).error());
    for (std::size_t i = 0; i < missing.size(); ++i) {
      for (const PackManifest::File& file : (*written)[i].files) report.bytes += file.bytes;
      manifest.shards[missing[i].shard] = std::move((*written)[i]);
    }
    report.shards = missing.size();
  }
  if (options.parts == 1) {
    auto key = folder->path(std::string(PackManifest::kName));
    if (!*is_complete || !missing.empty()) {
      auto written = write_manifest(*folder, manifest);
      if (!written) return std::unexpected(std::move(written).error());
    }
    report.manifest = std::move(key);
  }
  report.seconds = std::chrono::duration<double>(PackClock::now() - began).count();
  return report;
}

}  // namespace penstock
