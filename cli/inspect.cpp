// penstock inspect: describes the contents of a source, its decoded size, and what fits in memory.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ranges>
#include <vector>

#include "base/text/public_uri.h"
#include "chunk_table.h"
#include "command.h"
#include "format.h"
#include "fetch/lookahead.h"
#include "source/extent.h"
#include "source/sample_draws.h"
#include "source/source_storage.h"
#include "statistics/visit_samples.h"
#include "progress_bar.h"
#include "sizes.h"
#include "source_option.h"
#include "volume_description.h"

namespace penstock::cli {
namespace {

constexpr std::uint64_t kSampled = 64;
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{256} << 20;  // approximate limit of the chunks that are decoded for the sampled shapes
constexpr std::size_t kListed = 5;                                   // classes, shapes or broken files that are listed

constexpr const char* kFooter =
    "Up to 64 evenly spaced samples are read and decoded (fewer of arrays in large chunks); those\n"
    "that cannot be are listed and do not change the exit code. K is how many times larger the data\n"
    "is decoded than stored: it says what keeping decoded samples in memory costs. What Zarr takes\n"
    "as stored is told from a few chunks.\n"
    "\n"
    "Examples:\n"
    "  penstock inspect data/train\n"
    "  penstock inspect 'frames/*.npy' --memory 32GiB --json\n"
    "  penstock inspect era5.zarr --variables t2m,msl --sample-dim time --select lat=30:60\n"
    "  penstock inspect stack.tif\n"
    "  penstock inspect stack.tif --patch 16,128,128 --labels labels.tif";

struct Options {
  SourceOption source;
  std::uint64_t memory_bytes = std::uint64_t{8} << 30;
  bool json = false;
};

struct ClassCount {
  std::string name;
  std::uint64_t samples = 0;
};

struct ShapeCount {
  std::string field;
  ArraySpec spec;
  std::uint64_t samples = 0;  // number of inspected samples with this shape
};

struct Findings {
  std::vector<ClassCount> classes;
  std::vector<ShapeCount> shapes;  // the most frequent first
  std::vector<Error> broken, bad_shards;
  std::uint64_t sampled = 0, broken_samples = 0;
  std::uint64_t shards = 0;                 // 0: the source has no shards
  std::vector<std::uint64_t> samples_with;  // by field of the source: number of inspected samples that have it
  std::optional<StoredArrays> arrays;
  double decoded_bytes = -1;                // of all samples, estimated from the inspected ones; -1: unknown
  double stored_bytes = 0;
  bool decoded_is_estimate = false, stored_is_estimate = false;
};

std::string describe(const ArraySpec& spec) {
  return spec.shape.empty() ? std::string(name_of(spec.dtype))
                            : fmt::format("{} {}", fmt::join(spec.shape, "x"), name_of(spec.dtype));
}

std::vector<ClassCount> count_classes(const Source& source) {
  std::vector<ClassCount> counts;
  for (const std::string& name : source.classes()) counts.push_back({name, 0});
  if (counts.empty()) return counts;
  const auto field = std::ranges::find_if(source.fields(), &FieldInfo::is_class);
  if (field == source.fields().end()) return counts;
  const auto label = static_cast<std::size_t>(field - source.fields().begin());
  for (std::uint64_t i = 0; i < source.size(); ++i)
    if (const auto value = static_cast<std::size_t>(std::get<std::int64_t>(source.value(i, label)));
        value < counts.size())
      ++counts[value].samples;
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

double share_held(std::uint64_t memory_bytes, double data_bytes) {
  return data_bytes > 0 ? std::min(1.0, static_cast<double>(memory_bytes) / data_bytes) : 1.0;
}

void print_classes(const std::vector<ClassCount>& classes) {
  if (classes.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(classes.size(), kListed); ++i)
    names += (i ? ", " : "") + classes[i].name;
  if (classes.size() > kListed) names += ", ...";
  const auto [smallest, largest] = std::ranges::minmax_element(classes, {}, &ClassCount::samples);
  fmt::print("  classes    {}: {}\n", with_commas(classes.size()), names);
  if (smallest->samples == largest->samples)
    fmt::print("             {} samples each\n", with_commas(smallest->samples));
  else
    fmt::print("             smallest {} ({}), largest {} ({})\n", smallest->name,
               with_commas(smallest->samples), largest->name, with_commas(largest->samples));
}

// Returns "300..512 x 337..539 x 3 uint8", for more shapes than can be listed; nothing if their types or
// ranks differ.
std::string describe_range(const std::vector<ShapeCount>& shapes) {
  const ArraySpec& first = shapes.front().spec;
  Shape low = first.shape, high = first.shape;
  for (const ShapeCount& one : shapes) {
    if (one.spec.dtype != first.dtype || one.spec.shape.size() != low.size()) return {};
    for (std::size_t axis = 0; axis < low.size(); ++axis) {
      low[axis] = std::min(low[axis], one.spec.shape[axis]);
      high[axis] = std::max(high[axis], one.spec.shape[axis]);
    }
  }
  std::string text;
  for (std::size_t axis = 0; axis < low.size(); ++axis)
    text += fmt::format("{}{}", axis ? " x " : "",
                        low[axis] == high[axis] ? fmt::format("{}", low[axis])
                                                : fmt::format("{}..{}", low[axis], high[axis]));
  return fmt::format("{} {}", text, name_of(first.dtype));
}

// Says how many samples have the field, unless all have it.
std::string presence(const FieldInfo& field, std::uint64_t samples, const Findings& findings) {
  return field.is_everywhere ? "" : fmt::format(", in {} of {} sampled", samples, findings.sampled);
}

// A name that is wider than the column of titles gets a line of its own.
std::string title_of(const std::string& field) {
  return field.size() > 10 ? fmt::format("  {}\n{:13}", field, "") : fmt::format("  {:<10} ", field);
}

void print_field(std::size_t number, const Source& source, const Findings& findings) {
  const FieldInfo& field = source.fields()[number];
  std::vector<ShapeCount> shapes;
  std::ranges::copy_if(findings.shapes, std::back_inserter(shapes),
                       [&](const ShapeCount& one) { return one.field == field.name; });
  const std::uint64_t seen = findings.samples_with[number];
  fmt::print("{}{}{}", title_of(field.name), name_of(field.kind), presence(field, seen, findings));
  const std::string range = shapes.size() > kListed ? describe_range(shapes) : std::string();
  if (!range.empty()) {
    fmt::print(", {} ({} shapes in {} samples)\n", range, shapes.size(), seen);
    return;
  }
  if (shapes.size() == 1) {
    fmt::print(", {}{}\n", describe(shapes.front().spec),
               seen == source.size() || !field.is_everywhere ? "" : fmt::format(" ({} sampled)", seen));
    return;
  }
  fmt::print("\n");
  for (std::size_t i = 0; i < std::min(shapes.size(), kListed); ++i)
    fmt::print("{:13}{} ({} of {} sampled)\n", "", describe(shapes[i].spec), shapes[i].samples,
               findings.sampled);
  if (shapes.size() > kListed) fmt::print("{:13}and {} more\n", "", shapes.size() - kListed);
}

void print_errors(const std::string& title, const std::vector<Error>& errors) {
  fmt::print("  broken     {}\n", title);
  for (std::size_t i = 0; i < std::min(errors.size(), kListed); ++i)
    fmt::print("             {}\n", errors[i].describe());
  if (errors.size() > kListed)
    fmt::print("             and {} more (penstock verify lists them)\n", errors.size() - kListed);
}

// "a.zarr", or "a.zarr and 3 more".
std::string title_of(const SourceOption& option, const Source& source) {
  return option.more_stores.empty() ? option.uri : source.uri();
}

void print_screen(const Options& options, const Source& source, const Findings& findings) {
  const double samples = static_cast<double>(source.size()), stored = findings.stored_bytes;
  fmt::print("{}\n\n", title_of(options.source, source));
  fmt::print("  kind       {}\n", source.kind());
  if (findings.shards > 0)
    fmt::print("  shards     {}{}\n", with_commas(findings.shards),
               source.storage().is_forward_only() ? ", compressed: read forward only, shuffled in windows" : "");
  fmt::print("  samples    {}\n", with_commas(source.size()));
  if (source.windows_left_out() > 0)
    fmt::print("  left out   {} windows over gaps in time (--gaps allow takes them)\n",
               with_commas(source.windows_left_out()));
  if (const LeftOutFiles* left_out = source.left_out())
    fmt::print("  left out   {}\n", left_out->describe());
  print_classes(findings.classes);
  for (std::size_t i = 0; i < source.fields().size(); ++i) {
    print_field(i, source, findings);
    if (findings.arrays && findings.arrays->of_fields[i])
      fmt::print("{:13}{}\n", "", findings.arrays->of_fields[i]->describe());
  }
  if (stored >= 0)
    fmt::print("  stored     {}, {} a sample{}\n", format_bytes(stored), format_bytes(stored / samples),
               findings.stored_is_estimate ? " (estimate)" : "");
  if (findings.decoded_bytes >= 0) {
    fmt::print("  decoded    {}, {} a sample{}\n", format_bytes(findings.decoded_bytes),
               format_bytes(findings.decoded_bytes / samples),
               findings.decoded_is_estimate ? " (estimate)" : "");
    if (stored > 0) fmt::print("  K          {:.2f} = decoded / stored\n", findings.decoded_bytes / stored);
  }
  const auto held = [&](double bytes) { return format_percent(share_held(options.memory_bytes, bytes)); };
  std::vector<std::string> shares;
  if (stored >= 0) shares.push_back(held(stored) + " as stored");
  if (findings.decoded_bytes >= 0) shares.push_back(held(findings.decoded_bytes) + " decoded");
  if (!shares.empty())
    fmt::print("  memory     {} would hold {}\n", format_bytes(options.memory_bytes),
               fmt::join(shares, ", "));
  if (!findings.bad_shards.empty())
    print_errors(findings.bad_shards.size() == 1
                     ? "1 shard cannot be read to its end"
                     : fmt::format("{} shards cannot be read to their end", findings.bad_shards.size()),
                 findings.bad_shards);
  if (!findings.broken.empty())
    print_errors(fmt::format("{} of {} sampled", findings.broken_samples, findings.sampled), findings.broken);
}

nlohmann::ordered_json classes_json(const std::vector<ClassCount>& classes) {
  if (classes.empty()) return nullptr;
  nlohmann::ordered_json json = {{"count", classes.size()}, {"samples", nlohmann::ordered_json::object()}};
  for (const ClassCount& one : classes) json["samples"][one.name] = one.samples;
  const auto [smallest, largest] = std::ranges::minmax_element(classes, {}, &ClassCount::samples);
  json["smallest"] = smallest->name;
  json["largest"] = largest->name;
  return json;
}

nlohmann::ordered_json left_out_json(const LeftOutFiles* left_out) {
  if (left_out == nullptr) return nullptr;
  return {{"files", left_out->count()}, {"by_ending", left_out->by_ending}, {"example", left_out->example}};
}

nlohmann::ordered_json errors_json(const std::vector<Error>& errors) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Error& error : errors)
    json.push_back({{"uri", without_secrets(error.where.uri)},
                    {"offset", error.where.offset},
                    {"length", error.where.length},
                    {"sample", error.where.sample},
                    {"message", error.message}});
  return json;
}

nlohmann::ordered_json sampled_json(const Findings& findings) {
  nlohmann::ordered_json json = {{"samples", findings.sampled},
                                 {"shapes", nlohmann::ordered_json::array()},
                                 {"broken", nlohmann::ordered_json::array()}};
  for (const ShapeCount& one : findings.shapes)
    json["shapes"].push_back({{"field", one.field},
                              {"shape", one.spec.shape},
                              {"dtype", name_of(one.spec.dtype)},
                              {"samples", one.samples}});
  json["broken"] = errors_json(findings.broken);
  return json;
}

void print_json(const Options& options, const Source& source, const Findings& findings) {
  const double stored = findings.stored_bytes;
  const bool is_known = findings.decoded_bytes >= 0;
  nlohmann::ordered_json json = {
      {"uri", title_of(options.source, source)}, {"kind", source.kind()}, {"samples", source.size()}};
  json["windows_left_out"] = source.windows_left_out();
  json["fields"] = nlohmann::ordered_json::array();
  for (const FieldInfo& field : source.fields())
    json["fields"].push_back(
        {{"name", field.name}, {"kind", name_of(field.kind)}, {"is_everywhere", field.is_everywhere}});
  json["shards"] = nullptr;
  if (findings.shards > 0)
    json["shards"] = {{"count", findings.shards},
                      {"compressed", source.storage().is_forward_only()},
                      {"broken", errors_json(findings.bad_shards)}};
  json["classes"] = classes_json(findings.classes);
  json["left_out"] = left_out_json(source.left_out());
  json["arrays"] = nullptr;
  for (std::size_t i = 0; findings.arrays && i < findings.arrays->of_fields.size(); ++i)
    if (const auto& array = findings.arrays->of_fields[i])
      json["arrays"][source.fields()[i].name] = array->to_json();
  json["stored_bytes"] = nullptr;
  if (stored >= 0) json["stored_bytes"] = static_cast<std::uint64_t>(stored);
  json["sampled"] = sampled_json(findings);
  json["decoded_bytes"] = nullptr;
  json["k"] = nullptr;
  if (is_known) json["decoded_bytes"] = static_cast<std::uint64_t>(findings.decoded_bytes);
  if (is_known && stored > 0) json["k"] = findings.decoded_bytes / stored;
  json["memory"] = {{"budget", options.memory_bytes}, {"holds_stored", nullptr}, {"holds_decoded", nullptr}};
  if (stored >= 0) json["memory"]["holds_stored"] = share_held(options.memory_bytes, stored);
  if (is_known) json["memory"]["holds_decoded"] = share_held(options.memory_bytes, findings.decoded_bytes);
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Status run(const Options& options) {
  std::vector<Error> bad_shards;
  const PatchOption& patch = options.source.patch;
  const bool may_be_volume = !patch.is_given() && !patch.has_details() && is_tiff_file(options.source.uri);
  const auto volume = may_be_volume ? open_tiff_file(options.source.uri) : Result<ChunkedArrayPtr>(nullptr);
  auto source = open(options.source, Index::kFresh, &bad_shards);  // a new index, so that the sizes are current
  if (!source && may_be_volume) {
    if (!volume) return std::unexpected(volume.error());
    print_volume(**volume, options.json);
    return {};
  }
  if (!source) return std::unexpected(bad_shards.empty() ? source.error() : bad_shards.front());
  source = with_list_of_samples(std::move(*source));
  if (!source) return std::unexpected(source.error());
  auto findings = look_at(*source);
  if (!findings) return std::unexpected(findings.error());
  findings->bad_shards = std::move(bad_shards);
  if (options.json)
    print_json(options, **source, *findings);
  else
    print_screen(options, **source, *findings);
  return {};
}

}  // namespace

Command add_inspect(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "What a source holds, its size decoded, and what fits in memory");
  add_source_option(*command, options->source);
  add_size_option(*command, "--memory", options->memory_bytes, "Budget to compare with; default: 8GiB");
  command->add_flag("--json", options->json, "Print one JSON object instead of the screen");
  command->footer(kFooter);
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
