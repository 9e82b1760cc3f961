#include "pipeline/order_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/nearest_name.h"
#include "source/extent.h"
#include "source/sample_draws.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

// Returns the length of each sample for bucket_by. No sample is read, because the index knows how many bytes each field
// takes.
Result<std::vector<std::uint64_t>> lengths_of(const Source& source, const LoaderOptions& options) {
  const auto renamed = options.renamed.find(options.bucket_by);
  const std::string& name = renamed == options.renamed.end() ? options.bucket_by : renamed->second;
  const auto found = std::ranges::find(source.fields(), name, &FieldInfo::name);
  if (found == source.fields().end()) {
    std::vector<std::string> known;
    for (const FieldInfo& other : source.fields()) known.push_back(other.name);
    const auto near = nearest_name(name, known);
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("bucket_by=\"{}\": there is no such field{}; there are {}", options.bucket_by,
                    near ? fmt::format(", did you mean \"{}\"?", *near) : "", fmt::join(known, ", ")));
  }
  const auto field = static_cast<std::size_t>(found - source.fields().begin());
  std::vector<std::uint64_t> lengths(source.size());
  for (std::uint64_t sample = 0; sample < source.size(); ++sample) {
    if (found->form == FieldForm::kIndex) {
      const IndexValue value = source.value(sample, field);
      if (const auto* integer = std::get_if<std::int64_t>(&value))
        lengths[sample] = static_cast<std::uint64_t>(std::max<std::int64_t>(*integer, 0));
      else if (const auto* text = std::get_if<std::string>(&value))
        lengths[sample] = text->size();
      else
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("bucket_by=\"{}\": wants whole numbers", options.bucket_by));
    } else if (const auto extent = source.extent(sample, field)) {
      if (extent->modified_ns == Extent::kUnknown)
        return fail(
            ErrorCode::kInvalidArgument,
            fmt::format(
                "bucket_by=\"{}\": the lengths of these files are not known before they are read; give a "
                "column of numbers, or a list",
                options.bucket_by));
      lengths[sample] = extent->length;
    }
  }
  return lengths;
}

// The format decides, never timing: if a storage unit holds several samples and is read as a whole, samples are
// shuffled in windows of units.
Shuffle shuffle_for(ShuffleMode mode, const Source& source) {
  switch (mode) {
    case ShuffleMode::kOff: return Shuffle::kNone;
    case ShuffleMode::kWindow: return Shuffle::kWindow;
    case ShuffleMode::kAuto: return source.storage().shares_units ? Shuffle::kWindow : Shuffle::kFull;
    case ShuffleMode::kFull: return Shuffle::kFull;
  }
  return Shuffle::kNone;
}

}  // namespace

Result<OrderSpec> plan_order(const Source& source, const LoaderOptions& options) {
  OrderSpec order;
  order.samples = source.size();
  order.epoch_size = options.epoch_size;
  order.shuffle = shuffle_for(options.shuffle, source);
  order.seed = options.seed;
  order.unit_samples = source.storage().unit_samples;
  order.window_units = options.shuffle_window ? options.shuffle_window : source.storage().suggested_window;
  order.draws = source.draws();
  if (order.draws && order.epoch_size == 0) order.epoch_size = order.draws->per_epoch();
  order.indices = options.sampler;
  order.weights = options.weights;
  order.lengths = options.bucket_lengths;
  if (source.storage().is_forward_only() && (order.shuffle == Shuffle::kFull || options.sampler || options.weights ||
                                   order.lengths || !options.bucket_by.empty()))
    return fail(ErrorCode::kUnsupported,
                "compressed shards can only be read forward: shuffle=True goes through them in windows; full "
                "shuffles, samplers, weights and buckets need uncompressed ones",
                {source.uri(), -1, -1, -1});
  if (order.shuffle == Shuffle::kWindow && !options.sampler) order.units = source.storage().units;
  if (source.mixture() != nullptr) order.mixture = *source.mixture();
  if (!options.bucket_by.empty()) {
    auto lengths = lengths_of(source, options);
    if (!lengths) return std::unexpected(std::move(lengths).error());
    order.lengths = std::make_shared<const std::vector<std::uint64_t>>(std::move(*lengths));
  }
  // A bucket spans all ranks, so that the ranks of one training step have samples of similar length.
  if (order.lengths) order.bucket_run = options.batch_size * options.world_size;
  PENSTOCK_CHECK(check_order(order));
  return order;
}

ShuffleStats describe_shuffle(const OrderSpec& order, std::uint64_t batch_samples) {
  ShuffleStats stats;
  if (order.draws && order.shuffle != Shuffle::kFull) {
    stats.units = order.draws->visits_per_pass();
    stats.samples_per_unit = static_cast<double>(order.draws->per_visit());
  } else if (order.shuffle == Shuffle::kWindow && !order.draws && order.samples > 0) {
    stats.units = order.units ? order.units->first_sample.size() - 1
                              : (order.samples + order.unit_samples - 1) / order.unit_samples;
    stats.samples_per_unit = static_cast<double>(order.samples) / static_cast<double>(stats.units);
  } else {
    return stats;
  }
  stats.window_units = std::min(order.window_units, stats.units);
  // Two samples of a batch share a unit with probability (s-1)/(ns-1) within a window of n units of s
  // samples, and (s-1)/(Ms-1) in a full shuffle of M units.
  const double s = stats.samples_per_unit, n = static_cast<double>(stats.window_units),
               m = static_cast<double>(stats.units);
  const auto share = [&](double units) { return units * s > 1 ? (s - 1) / (units * s - 1) : 0.0; };
  stats.design_effect = 1 + (static_cast<double>(batch_samples) - 1) * (share(n) - share(m));
  return stats;
}

}  // namespace penstock
