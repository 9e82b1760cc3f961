#include "pack/zarr/pack_as_zarr.h"

#include <utility>

#include "pack/shard_split.h"
#include "pack/zarr/zarr_pack.h"
#include "source/combine/subset.h"

namespace penstock {
namespace {

PackReport report_of(const ZarrPackReport& zarr, std::uint64_t written, std::string root_metadata) {
  PackReport report;
  report.samples = zarr.samples;
  report.shards = written;
  report.shards_skipped = zarr.shards - written;
  report.bytes = zarr.stored_bytes;
  report.seconds = zarr.seconds;
  report.threads = zarr.threads;
  report.manifest = std::move(root_metadata);
  report.chunks_decoded = zarr.chunks_decoded;
  report.peak_memory_bytes = zarr.peak_memory;
  return report;
}

Result<SourcePtr> in_order(const SourcePtr& source, std::optional<std::uint64_t> shuffle_seed) {
  if (!shuffle_seed || source->draws() != nullptr) return source;
  const PackOrder order(source->size(), shuffle_seed);
  std::vector<std::uint64_t> indices(source->size());
  for (std::uint64_t i = 0; i < indices.size(); ++i) indices[i] = order.sample_at(i);
  return choose_samples(source, std::move(indices));
}

}  // namespace

Result<PackReport> pack_as_zarr(const SourcePtr& source, const std::string& destination, const PackOptions& options) {
  const auto ordered = in_order(source, options.shuffle_seed);
  if (!ordered) return std::unexpected(ordered.error());
  ZarrPackOptions zarr;
  zarr.fields = options.fields;
  zarr.transforms = options.transforms;
  zarr.chunks = options.chunks;
  zarr.shard_bytes = options.shard_bytes;
  zarr.level = options.level;
  zarr.threads = options.threads;
  zarr.memory_bytes = options.memory_bytes;
  zarr.part = options.part;
  zarr.parts = options.parts;
  zarr.headers = options.headers;
  if (options.progress)
    zarr.progress = [&](std::uint64_t done, std::uint64_t bytes) {
      const double share = bytes > 0 ? static_cast<double>(done) / static_cast<double>(bytes) : 1;
      const std::uint64_t samples = source->size();
      return options.progress({static_cast<std::uint64_t>(share * static_cast<double>(samples)), samples, done});
    };
  const auto packed = pack_zarr(*ordered, destination, zarr);
  if (!packed) return std::unexpected(packed.error());
  return report_of(*packed, packed->shards - packed->shards_kept, packed->root_metadata);
}

Result<PackReport> finish_as_zarr(const std::string& destination, const std::vector<std::string>& headers) {
  ZarrPackOptions options;
  options.headers = headers;
  const auto finished = finish_zarr(destination, options);
  if (!finished) return std::unexpected(finished.error());
  return report_of(*finished, 0, finished->root_metadata);
}

}  // namespace penstock
