// penstock inspect: what a source holds, how large it is decoded, and what fits in memory.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "command.h"
#include "format.h"
#include "penstock/loader.h"
#include "progress_bar.h"
#include "sizes.h"
#include "source_option.h"

namespace penstock::cli {
namespace {

constexpr std::uint64_t kSampled = 64;
constexpr std::size_t kListed = 5;  // classes, shapes, broken files

constexpr const char* kFooter =
    "Up to 64 evenly spaced samples are read and decoded; those that cannot be are listed and do\n"
    "not change the exit code. K is how many times larger the data is decoded than stored: it says\n"
    "what keeping decoded samples in memory costs.\n"
    "\n"
    "Examples:\n"
    "  penstock inspect data/train\n"
    "  penstock inspect 'frames/*.npy' --memory 32GiB --json";

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
  std::uint64_t samples = 0;  // of the sampled
};

struct Findings {
  std::vector<ClassCount> classes;
  std::vector<ShapeCount> shapes;  // the most frequent first
  std::vector<Error> broken;
  std::uint64_t sampled = 0;
  double decoded_bytes = -1;  // of all samples, from the mean of the sampled; -1: not known
};

std::string describe(const ArraySpec& spec) {
  return spec.shape.empty() ? std::string(name_of(spec.dtype))
                            : fmt::format("{} {}", fmt::join(spec.shape, "x"), name_of(spec.dtype));
}

std::vector<ClassCount> count_classes(const Source& source) {
  std::vector<ClassCount> counts;
  for (const std::string& name : source.classes()) counts.push_back({name, 0});
  if (counts.empty()) return counts;
  std::size_t label = 0;
  while (label < source.fields().size() && (source.fields()[label].kind != FieldKind::kInteger ||
                                             source.fields()[label].form != FieldForm::kIndex))
    ++label;
  if (label == source.fields().size()) return counts;
  for (std::uint64_t i = 0; i < source.size(); ++i)
    if (const auto value = static_cast<std::size_t>(std::get<std::int64_t>(source.value(i, label)));
        value < counts.size())
      ++counts[value].samples;
  return counts;
}

// Reads and decodes one sample; its fields as they would stand in a batch.
Result<std::vector<BatchField>> read_sample(const SourcePtr& source, std::uint64_t sample) {
  auto one = subset(source, {sample});
  if (!one) return std::unexpected(std::move(one).error());
  LoaderOptions options;
  options.threads = 1;
  options.layout = BatchLayout::kNhwc;
  const auto loader = Loader::open(std::move(*one), options);
  if (!loader) return std::unexpected(loader.error());
  PENSTOCK_CHECK((*loader)->start_epoch());
  const auto batch = (*loader)->next();
  if (!batch) return std::unexpected(batch.error());
  return (*loader)->sample_fields();
}

void count_shape(std::vector<ShapeCount>& shapes, const BatchField& field) {
  const auto found = std::ranges::find_if(
      shapes, [&](const ShapeCount& one) { return one.field == field.name && one.spec == field.spec; });
  if (found != shapes.end())
    ++found->samples;
  else
    shapes.push_back({field.name, field.spec, 1});
}

Findings look_at(const SourcePtr& source) {
  Findings findings;
  findings.classes = count_classes(*source);
  findings.sampled = std::min(source->size(), kSampled);
  ProgressBar bar("reading samples", findings.sampled, "samples");
  double bytes = 0;
  for (std::uint64_t i = 0; i < findings.sampled; ++i) {
    const std::uint64_t sample = source->size() * i / findings.sampled;
    auto fields = read_sample(source, sample);
    if (!fields) {
      fields.error().where.sample = static_cast<std::int64_t>(sample);  // of the whole, not of the one
      findings.broken.push_back(std::move(fields).error());
    } else {
      for (std::size_t field = 0; field < fields->size() && field < source->fields().size(); ++field) {
        if (source->fields()[field].kind >= FieldKind::kInteger) continue;
        const BatchField& read = (*fields)[field];
        bytes += static_cast<double>(read.spec.bytes());
        count_shape(findings.shapes, read);
      }
    }
    bar.show(i + 1);
  }
  std::ranges::stable_sort(findings.shapes, std::greater{}, &ShapeCount::samples);
  const std::uint64_t good = findings.sampled - findings.broken.size();
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

// "300..512 x 337..539 x 3 uint8": where there are too many shapes to list. Nothing where their
// types or ranks differ.
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

void print_shapes_of(const std::string& field, const Source& source, const Findings& findings) {
  std::vector<ShapeCount> shapes;
  std::ranges::copy_if(findings.shapes, std::back_inserter(shapes),
                       [&](const ShapeCount& one) { return one.field == field; });
  if (shapes.empty()) return;
  const std::string range = shapes.size() > kListed ? describe_range(shapes) : std::string();
  if (!range.empty()) {
    fmt::print("  {:<10} {} ({} shapes in {} samples)\n", field, range, shapes.size(), findings.sampled);
    return;
  }
  const bool is_all = shapes.size() == 1 && findings.sampled == source.size();
  for (std::size_t i = 0; i < std::min(shapes.size(), kListed); ++i)
    fmt::print("  {:<10} {}{}\n", i == 0 ? field : "", describe(shapes[i].spec),
               is_all ? "" : fmt::format(" ({} of {} sampled)", shapes[i].samples, findings.sampled));
  if (shapes.size() > kListed) fmt::print("             and {} more\n", shapes.size() - kListed);
}

void print_screen(const Options& options, const Source& source, const Findings& findings) {
  const auto samples = static_cast<double>(source.size()),
             stored = static_cast<double>(source.stored_bytes());
  fmt::print("{}\n\n", options.source.uri);
  fmt::print("  kind       {}\n", source.kind());
  fmt::print("  samples    {}\n", with_commas(source.size()));
  print_classes(findings.classes);
  for (const FieldInfo& field : source.fields()) print_shapes_of(field.name, source, findings);
  fmt::print("  stored     {}, {} a sample\n", format_bytes(stored), format_bytes(stored / samples));
  if (findings.decoded_bytes >= 0) {
    fmt::print("  decoded    {}, {} a sample{}\n", format_bytes(findings.decoded_bytes),
               format_bytes(findings.decoded_bytes / samples),
               findings.shapes.size() > 1 ? " (estimate)" : "");
    if (stored > 0) fmt::print("  K          {:.2f} = decoded / stored\n", findings.decoded_bytes / stored);
  }
  fmt::print("  memory     {} would hold {} as stored", format_bytes(options.memory_bytes),
             format_percent(share_held(options.memory_bytes, stored)));
  if (findings.decoded_bytes >= 0)
    fmt::print(", {} decoded", format_percent(share_held(options.memory_bytes, findings.decoded_bytes)));
  fmt::print("\n");
  if (findings.broken.empty()) return;
  fmt::print("  broken     {} of {} sampled\n", findings.broken.size(), findings.sampled);
  for (std::size_t i = 0; i < std::min(findings.broken.size(), kListed); ++i)
    fmt::print("             {}\n", findings.broken[i].describe());
  if (findings.broken.size() > kListed)
    fmt::print("             and {} more (--json lists them)\n", findings.broken.size() - kListed);
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

nlohmann::ordered_json sampled_json(const Findings& findings) {
  nlohmann::ordered_json json = {{"samples", findings.sampled},
                                 {"shapes", nlohmann::ordered_json::array()},
                                 {"broken", nlohmann::ordered_json::array()}};
  for (const ShapeCount& one : findings.shapes)
    json["shapes"].push_back({{"field", one.field},
                              {"shape", one.spec.shape},
                              {"dtype", name_of(one.spec.dtype)},
                              {"samples", one.samples}});
  for (const Error& error : findings.broken)
    json["broken"].push_back({{"uri", error.where.uri},
                              {"offset", error.where.offset},
                              {"length", error.where.length},
                              {"sample", error.where.sample},
                              {"message", error.message}});
  return json;
}

void print_json(const Options& options, const Source& source, const Findings& findings) {
  const auto stored = static_cast<double>(source.stored_bytes());
  const bool is_known = findings.decoded_bytes >= 0;
  nlohmann::ordered_json json = {
      {"uri", options.source.uri}, {"kind", source.kind()}, {"samples", source.size()}};
  json["fields"] = nlohmann::ordered_json::array();
  for (const FieldInfo& field : source.fields())
    json["fields"].push_back({{"name", field.name}, {"kind", name_of(field.kind)}});
  json["classes"] = classes_json(findings.classes);
  json["stored_bytes"] = source.stored_bytes();
  json["sampled"] = sampled_json(findings);
  json["decoded_bytes"] = nullptr;
  json["k"] = nullptr;
  if (is_known) json["decoded_bytes"] = static_cast<std::uint64_t>(findings.decoded_bytes);
  if (is_known && stored > 0) json["k"] = findings.decoded_bytes / stored;
  json["memory"] = {{"budget", options.memory_bytes},
                    {"holds_stored", share_held(options.memory_bytes, stored)},
                    {"holds_decoded", nullptr}};
  if (is_known) json["memory"]["holds_decoded"] = share_held(options.memory_bytes, findings.decoded_bytes);
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Status run(const Options& options) {
  const auto source = open(options.source, Index::kFresh);  // what is there now, sizes included
  if (!source) return std::unexpected(source.error());
  const Findings findings = look_at(*source);
  if (options.json)
    print_json(options, **source, findings);
  else
    print_screen(options, **source, findings);
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
