#include "pack/zarr/zarr_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/machine.h"
#include "base/memory/ledger.h"
#include "base/stats.h"
#include "pack/pack_folder.h"
#include "pack/source_identity.h"
#include "pack/transform_text.h"
#include "pack/zarr/group_pack.h"
#include "pack/zarr/hierarchy.h"
#include "pack/zarr/pack_plan.h"
#include "pack/zarr/packed_coordinates.h"
#include "pack/zarr/run_tasks.h"
#include "pack/zarr/shard_check.h"
#include "store/key_path.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

Status check_options(const SourcePtr& source, const ZarrPackOptions& options) {
  const Where where{source->uri(), -1, -1, -1};
  if (source->size() == 0) return fail(ErrorCode::kInvalidArgument, "there are no samples to pack", where);
  if (source->draws() != nullptr)
    return fail(ErrorCode::kInvalidArgument,
                "random patches have no end; open the volumes without per_epoch, so that a grid of patches is packed", where);
  if (source->mixture() != nullptr)
    return fail(ErrorCode::kInvalidArgument, "a mixture with weights has no end; mix without weights", where);
  if (options.level < -7 || options.level > 22)
    return fail(ErrorCode::kInvalidArgument, fmt::format("level {}: zstd has -7 to 22", options.level), where);
  if (options.parts == 0 || options.part >= options.parts)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("part {} of {}: parts count from 0", options.part, options.parts), where);
  if (options.shard_bytes == 0) return fail(ErrorCode::kInvalidArgument, "shard size 0", where);
  return {};
}

// Fails for transforms that draw at random.
Result<std::string> describe_source(const Source& source, const ZarrPackOptions& options) {
  const auto fingerprint = source_identity(source);
  if (!fingerprint) return std::unexpected(fingerprint.error());
  std::string text = fmt::format("{:016x}", *fingerprint);
  for (const FieldTransform& transform : options.transforms) {
    text += fmt::format(" {}:", transform.field);
    for (const Transform& step : transform.steps) {
      const auto word = text_of(step);
      if (!word) return std::unexpected(word.error());
      text += " " + *word;
    }
  }
  return text;
}

void count_part(const PackPlan& plan, const Source& source, const ZarrPackOptions& options, ZarrPackReport& report) {
  for (const FieldGroup& group : plan.groups) {
    const auto length = static_cast<std::uint64_t>(group.shard_samples);
    const std::uint64_t begin = group.shards * options.part / options.parts * length;
    const std::uint64_t end = group.shards * (options.part + 1) / options.parts * length;
    const std::uint64_t samples = std::min(end, source.size()) - std::min(begin, source.size());
    report.bytes += samples * group.sample_bytes;
    report.samples = std::max(report.samples, samples);
  }
}

// Looks at every shard of every part.
Status check_all(const PackFolder& to, std::span<const PackedArray> arrays, const ZarrPackOptions& options,
                 ZarrPackReport& report) {
  for (const PackedArray& array : arrays) {
    report.shards += array.shards();
    report.bytes += array.samples * array.sample.bytes();
    std::atomic<std::uint64_t> stored{0};
    PENSTOCK_CHECK(run_tasks(
        report.threads, array.shards(),
        [&](unsigned, std::uint64_t shard) -> Status {
          const auto size = check_shard(*to.store, array.shard_key(to.key, shard), array, shard, ShardDepth::kIndex);
          if (size) {
            stored.fetch_add(*size);
            return {};
          }
          Error error = size.error();
          if (error.code == ErrorCode::kNotFound)
            error.message = fmt::format("shard {} of {} is missing: a part is not packed yet", shard, array.name);
          return std::unexpected(std::move(error));
        },
        [&] { return !options.progress || options.progress(report.bytes, report.bytes); }));
    report.stored_bytes += stored.load();
  }
  return {};
}

}  // namespace

Result<ZarrPackReport> pack_zarr(const SourcePtr& source, const std::string& destination,
                                 const ZarrPackOptions& options) {
  const Clock::time_point began = Clock::now();
  PENSTOCK_CHECK(check_options(source, options));
  const auto to = open_pack_folder(destination, options.headers, "zarr");
  if (!to) return std::unexpected(to.error());
  Ledger ledger(options.memory_bytes ? options.memory_bytes : default_memory_bytes(1));
  const auto plan = plan_pack(source, options, ledger);
  if (!plan) return std::unexpected(plan.error());
  const auto coordinates = coordinates_of(*source, *plan);
  if (!coordinates) return std::unexpected(coordinates.error());
  auto description = describe_source(*source, options);
  if (!description) return std::unexpected(std::move(description).error());
  const std::string record = describe_pack(*description, plan->arrays, *coordinates);
  PENSTOCK_CHECK(claim_destination(*to->store, to->key, record, *coordinates));
  ZarrPackReport report;
  report.arrays = plan->arrays.size();
  report.threads = options.threads ? options.threads : usable_cpus();
  count_part(*plan, *source, options, report);
  std::atomic<std::uint64_t> done{0};
  const std::function<bool()> go_on = [&] {
    return !options.progress || options.progress(done.load(), report.bytes);
  };
  for (const FieldGroup& group : plan->groups)
    PENSTOCK_CHECK(pack_group({source, *to->store, to->key, options, *plan, group, ledger, go_on, done}, report));
  if (options.parts == 1) {
    PENSTOCK_CHECK(write_metadata(*to->store, to->key, record));
    report.root_metadata = to->key + "/zarr.json";
  }
  report.seconds = seconds_between(began, Clock::now());
  report.peak_memory = ledger.peak();
  return report;
}

Result<bool> is_zarr_pack(const std::string& destination, const std::vector<std::string>& headers) {
  const auto to = open_pack_folder(destination, headers, "zarr");
  if (!to) return std::unexpected(to.error());
  const auto record = read_record(*to->store, to->key);
  if (!record && record.error().code != ErrorCode::kNotFound) return std::unexpected(record.error());
  return record.has_value();
}

Result<ZarrPackReport> finish_zarr(const std::string& destination, const ZarrPackOptions& options) {
  const Clock::time_point began = Clock::now();
  const auto to = open_pack_folder(destination, options.headers, "zarr");
  if (!to) return std::unexpected(to.error());
  const auto record = read_record(*to->store, to->key);
  if (!record) return std::unexpected(record.error());
  const auto arrays = arrays_of_record(*record, to->key);
  if (!arrays) return std::unexpected(arrays.error());
  ZarrPackReport report;
  report.arrays = arrays->size();
  report.threads = options.threads ? options.threads : usable_cpus();
  for (const PackedArray& array : *arrays) report.samples = std::max(report.samples, array.samples);
  PENSTOCK_CHECK(check_all(*to, *arrays, options, report));
  PENSTOCK_CHECK(write_metadata(*to->store, to->key, *record));
  report.root_metadata = to->key + "/zarr.json";
  report.seconds = seconds_between(began, Clock::now());
  return report;
}

}  // namespace penstock
