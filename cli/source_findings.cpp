#include "source_findings.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <ranges>

#include "fetch/lookahead.h"
#include "progress_bar.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "statistics/visit_samples.h"

namespace penstock::cli {
namespace {

constexpr std::uint64_t kSampled = 64;
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{256} << 20;  // of chunks that are decoded to see shapes

std::vector<ClassCount> count_classes(const Source& source) {
  std::vector<ClassCount> counts;
  for (const std::string& name : source.classes()) counts.push_back({name, {}});
  if (counts.empty()) return counts;
  const auto field = std::ranges::find_if(source.fields(), &FieldInfo::is_class);
  if (field == source.fields().end() || field->form != FieldForm::kIndex) return counts;
  for (ClassCount& count : counts) count.samples = 0;
  const auto label = static_cast<std::size_t>(field - source.fields().begin());
  for (std::uint64_t i = 0; i < source.size(); ++i)
    if (const auto value = static_cast<std::size_t>(std::get<std::int64_t>(source.value(i, label)));
        value < counts.size())
      ++*counts[value].samples;
  return counts;
}

// Shards are the objects that samples share. The samples of a shard are consecutive.
std::uint64_t count_shards(const Source& source) {
  const auto shard_of = [&](std::uint64_t sample) {
    const auto extent = source.extent(sample, 0);
    // If a sample lacks the first field, the error still names the shard.
    return extent ? (extent->shared_object || extent->block >= 0 ? extent->object : "")
                  : extent.error().where.uri;
  };
  std::uint64_t shards = 0;
  for (std::uint64_t sample = 0; sample < source.size(); ++shards) {
    const std::string shard = shard_of(sample);
    if (shard.empty()) return 0;
    const auto rest = std::views::iota(sample, source.size());
    sample += static_cast<std::uint64_t>(
        std::ranges::partition_point(rest, [&](std::uint64_t other) { return shard_of(other) == shard; }) -
        rest.begin());
  }
  return shards;
}

// The findings of one thread.
struct Sighting {
  std::vector<ShapeCount> shapes;
  std::vector<std::uint64_t> samples;  // by field of the source: samples that have it
  double bytes = 0;
};

void count_shape(std::vector<ShapeCount>& shapes, const ShapeCount& more) {
  const auto found = std::ranges::find_if(
      shapes, [&](const ShapeCount& one) { return one.field == more.field && one.spec == more.spec; });
  if (found != shapes.end())
    found->samples += more.samples;
  else
    shapes.push_back(more);
}

void count(Sighting& sighting, const FieldInfo& field, const SeenField& seen) {
  ++sighting.samples[seen.field];
  if (field.kind >= FieldKind::kInteger) {
    sighting.bytes += static_cast<double>(seen.text.size());
    return;
  }
  ArraySpec spec{seen.view->dtype, seen.view->shape_vector()};
  // Masks that are pictures have no channel axis in a batch; labels of patches have none to begin with.
  if (field.kind == FieldKind::kMask && field.form != FieldForm::kChunks) spec.shape.pop_back();
  sighting.bytes += static_cast<double>(spec.bytes());
  count_shape(sighting.shapes, {field.name, std::move(spec), 1});
}

// Returns evenly spaced samples; for compressed shards the first ones, because reaching the others would
// decompress everything before them.
std::vector<std::uint64_t> samples_to_read(const Source& source) {
  std::uint64_t count = std::min(source.size(), kSampled);
  if (!source.storage().arrays.empty()) {
    std::vector<std::size_t> fields(source.fields().size());
    std::iota(fields.begin(), fields.end(), std::size_t{0});
    std::uint64_t bytes = 0;
    for (const ChunkId& chunk : chunks_of(source, fields, 0))
      bytes += source.storage().arrays[chunk.array]->chunk_bytes(chunk.number);
    count = std::clamp<std::uint64_t>(kMaxChunkBytes / std::max<std::uint64_t>(bytes, 1), 1, count);
  }
  std::vector<std::uint64_t> samples(count);
  for (std::uint64_t i = 0; i < samples.size(); ++i)
    samples[i] = source.storage().is_forward_only() ? i : source.size() * i / samples.size();
  return samples;
}

// True for texts, and for arrays and images if more than one shape was seen.
bool has_different_sizes(const Source& source, const std::vector<ShapeCount>& shapes) {
  return std::ranges::any_of(source.fields(), [&](const FieldInfo& field) {
    return field.kind > FieldKind::kInteger || std::ranges::count(shapes, field.name, &ShapeCount::field) > 1;
  });
}

}  // namespace

Result<Findings> look_at(const SourcePtr& source) {
  Findings findings;
  findings.classes = count_classes(*source);
  const bool is_shared = source->storage().units != nullptr && source->storage().arrays.empty();
  findings.shards = is_shared ? count_shards(*source) : 0;
  const std::vector<std::uint64_t> samples = samples_to_read(*source);
  findings.sampled = samples.size();
  findings.samples_with.resize(source->fields().size());
  const auto sampled = subset(source, samples);
  if (!sampled) return std::unexpected(sampled.error());
  ProgressBar bar("reading samples", findings.sampled, "samples");
  VisitOptions options;
  options.progress = [&](std::uint64_t done) {
    bar.show(done);
    return true;
  };
  std::vector<std::unique_ptr<Sighting>> sightings;
  auto visit = visit_samples(*sampled, options, [&] {
    auto& made = sightings.emplace_back(std::make_unique<Sighting>());
    made->samples.resize(source->fields().size());
    return [&source, mine = made.get()](const SeenField& seen) {
      count(*mine, source->fields()[seen.field], seen);
    };
  });
  if (!visit) return std::unexpected(std::move(visit).error());
  double bytes = 0;
  for (const auto& sighting : sightings) {
    bytes += sighting->bytes;
    for (const ShapeCount& shape : sighting->shapes) count_shape(findings.shapes, shape);
    for (std::size_t i = 0; i < sighting->samples.size(); ++i)
      findings.samples_with[i] += sighting->samples[i];
  }
  // The order must not depend on which thread saw a shape first.
  std::ranges::sort(findings.shapes, {}, [](const ShapeCount& one) { return one.spec.shape; });
  std::ranges::stable_sort(findings.shapes, std::greater{}, &ShapeCount::samples);
  findings.broken_samples = visit->bad_samples;
  for (BadValue& bad : visit->bad) {
    std::int64_t& sample = bad.error.where.sample;
    sample = static_cast<std::int64_t>(samples[static_cast<std::size_t>(sample)]);  // index in the whole source
    findings.broken.push_back(std::move(bad.error));
  }
  findings.arrays = look_at_arrays(*source);
  findings.stored_bytes = static_cast<double>(source->storage().stored_bytes);
  if (findings.arrays) {
    findings.stored_is_estimate = true;
    findings.stored_bytes = findings.arrays->stored_bytes;
  }
  findings.decoded_is_estimate =
      findings.sampled < source->size() && has_different_sizes(*source, findings.shapes);
  const std::uint64_t good = findings.sampled - findings.broken_samples;
  if (good > 0)
    findings.decoded_bytes = bytes / static_cast<double>(good) * static_cast<double>(source->size());
  return findings;
}

}  // namespace penstock::cli
