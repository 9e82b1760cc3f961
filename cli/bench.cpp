// penstock bench: measures how fast one configuration loads on this machine, by the wall clock.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/stats.h"
#include "checks.h"
#include "command.h"
#include "epoch_run.h"
#include "format.h"
#include "hardware.h"
#include "imagenet.h"
#include "process_use.h"
#include "sizes.h"
#include "source/source_storage.h"
#include "source_option.h"
#include "stage_table.h"

namespace penstock::cli {
namespace {

constexpr std::size_t kListed = 4;  // fields that are named

constexpr const char* kFooter =
    "The consumer takes batches and drops them, after --sleep seconds each where given. Throughput\n"
    "is samples over wall-clock seconds, from the start of an epoch until its last batch is used.\n"
    "With several epochs, the first is shown apart and the figures are those of the later ones.\n"
    "stall is the share of the time the consumer waited; rss is the peak of the process; cpu\n"
    "seconds are of all epochs.\n"
    "\n"
    "Transforms: train = RandomResizedCrop (scale 0.25 to 1), flip, normalize; eval = resize,\n"
    "centre crop, normalize; none = decoded only, which needs samples of one shape.\n"
    "\n"
    "Examples:\n"
    "  penstock bench data/train --batch 128 --threads 8\n"
    "  penstock bench data/train --sleep 0.2 --json >> results.jsonl\n"
    "  penstock bench data/train --cache 8GiB --epochs 3\n"
    "  penstock bench era5.zarr --variables t2m --sample-dim time --batch 16";

struct Options {
  SourceOption source;
  std::uint64_t batch = 64, epochs = 2, limit_batches = 0, seed = 0, memory_bytes = 0, cache_bytes = 0;
  unsigned threads = 0;
  std::string transform;  // empty: "train" for images, none for arrays
  int size = 224;
  bool antialias = true, shuffle = false, no_shuffle = false, json = false, revalidate = true;
  std::string dtype, layout = "NCHW", cache_form = "auto";
  double sleep_seconds = 0;
};

struct Report {
  std::vector<EpochRun> epochs;
  LoaderStats stats;
  ArraySpec sample;      // spec of the pictures, or of the first field if there are none
  std::string fields;    // names of all fields if they are arrays, otherwise of that field
  std::size_t from = 0;  // the first epoch that is measured
};

// Returns the first picture field that every sample has, or nullptr.
const FieldInfo* image_field(const Source& source) {
  const auto found = std::ranges::find_if(source.fields(), [](const FieldInfo& field) {
    return field.kind == FieldKind::kImage && field.is_everywhere;
  });
  return found == source.fields().end() ? nullptr : &*found;
}

Result<LoaderOptions> loader_options(const Options& options, const Source& source) {
  LoaderOptions loader;
  loader.batch_size = options.batch;
  loader.threads = options.threads;
  loader.memory_bytes = options.memory_bytes;
  loader.seed = options.seed;
  loader.shuffle = options.shuffle ? ShuffleMode::kAuto : ShuffleMode::kOff;
  loader.layout = options.layout == "NHWC" ? BatchLayout::kNhwc : BatchLayout::kNchw;
  if (!options.dtype.empty()) loader.dtype = dtype_named(options.dtype);
  loader.cache_form = options.cache_form == "encoded"   ? CacheForm::kEncoded
                      : options.cache_form == "decoded" ? CacheForm::kDecoded
                                                        : CacheForm::kAuto;
  if (options.cache_bytes > 0) {
    CacheOptions cached;
    cached.ram_bytes = options.cache_bytes;
    cached.revalidate = options.revalidate;
    cached.warn = [](const std::string& message) { fmt::print(stderr, "penstock: {}\n", message); };
    auto cache = Cache::open(cached);
    if (!cache) return std::unexpected(std::move(cache).error());
    loader.cache = std::move(*cache);
  }
  if (options.transform == "none") return loader;
  const FieldInfo* image = image_field(source);
  if (!image)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--transform {} wants images, this is {}", options.transform, source.kind()),
                {source.uri(), -1, -1, -1});
  loader.transforms = {{image->name,
                        options.transform == "train" ? imagenet_train(options.size, options.antialias)
                                                     : imagenet_eval(options.size, options.antialias),
                        ""}};
  return loader;
}

// Names the picture field alone, without its labels; arrays are all named.
std::string describe_fields(const std::vector<BatchField>& fields, bool has_image, const ArraySpec& sample) {
  const auto describe = [](const ArraySpec& spec) {
    return fmt::format("{}{}{}", fmt::join(spec.shape, "x"), spec.shape.empty() ? "" : " ",
                       name_of(spec.dtype));
  };
  if (has_image || fields.size() == 1) return describe(sample);
  std::vector<std::string> names;
  for (const BatchField& field : fields) {
    if (names.size() == kListed) {
      names.push_back(fmt::format("{} more", fields.size() - kListed));
      break;
    }
    names.push_back(field.spec.shape.empty() ? field.name : field.name + " " + describe(field.spec));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<Report> measure(Loader& loader, const Options& options) {
  Report report;
  for (std::uint64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    EpochRequest request;
    request.label = fmt::format("epoch {}/{}", epoch, options.epochs);
    request.batch_size = options.batch;
    request.limit_batches = options.limit_batches;
    request.sleep_seconds = options.sleep_seconds;
    auto run = run_epoch(loader, request);
    if (!run) return std::unexpected(std::move(run).error());
    report.epochs.push_back(std::move(*run));
  }
  report.stats = loader.stats();
  const std::vector<BatchField> fields = loader.sample_fields();
  const FieldInfo* image = image_field(loader.source());
  const auto shown = std::ranges::find(fields, image ? image->name : "", &BatchField::name);
  report.sample = (shown == fields.end() ? fields.front() : *shown).spec;
  report.fields = describe_fields(fields, image != nullptr, report.sample);
  report.from = report.epochs.size() > 1 ? 1 : 0;
  return report;
}

// Sums the cache statistics of the measured epochs.
CacheStats cache_from(const LoaderStats& stats, std::size_t first) {
  WorkerStats sum;
  for (std::size_t i = first; i < stats.epochs.size(); ++i) sum += WorkerStats{{}, stats.epochs[i].cache};
  return sum.cache;
}

std::string describe_cache(const Report& report) {
  const CacheStats cache = cache_from(report.stats, report.from);
  double saved = 0;
  for (const CacheStats::Tier& tier : cache.tiers) saved += tier.seconds_saved;
  const TierState& tier = report.stats.cache_tiers.front();
  return fmt::format("{} of {}, {}, {} hit, {} of thread time saved", format_bytes(tier.used_bytes),
                     format_bytes(tier.capacity_bytes), report.stats.cache_form,
                     format_percent(cache.hit_ratio()), format_seconds(saved));
}

nlohmann::ordered_json config_json(const Options& options, const Source& source, const Report& report) {
  const bool has_size = options.transform != "none";
  nlohmann::ordered_json json = {{"uri", options.source.uri},
                                 {"kind", source.kind()},
                                 {"samples", source.size()},
                                 {"stored_bytes", nullptr},
                                 {"batch", options.batch},
                                 {"threads", report.stats.threads},
                                 {"prefetch", report.stats.queue_capacity},
                                 {"epochs", options.epochs},
                                 {"limit_batches", options.limit_batches},
                                 {"transform", options.transform}};
  if (source.storage().arrays.empty()) json["stored_bytes"] = source.storage().stored_bytes;
  json["size"] = nullptr;
  json["antialias"] = nullptr;
  if (has_size) json["size"] = options.size;
  if (has_size) json["antialias"] = options.antialias;
  json["dtype"] = name_of(report.sample.dtype);
  json["layout"] = options.layout;
  json["shape"] = report.sample.shape;
  json["shuffle"] = options.shuffle;
  json["seed"] = options.seed;
  json["sleep"] = options.sleep_seconds;
  json["memory_bytes"] = report.stats.memory_budget;
  json["cache_bytes"] = options.cache_bytes;
  json["cache_form"] = report.stats.cache_form;
  return json;
}

void print_json(const Options& options, const Source& source, const Report& report) {
  const EpochRun run = joined(report.epochs, report.from);
  nlohmann::ordered_json json;
  json["config"] = config_json(options, source, report);
  json["hardware"] = to_json(find_hardware());
  json["versions"] = versions_json();
  json["throughput"] = run.throughput();
  json["throughput_first_epoch"] = report.epochs.front().throughput();
  json["first_batch_seconds"] = report.epochs.front().first_batch_seconds;
  json["wait_p50"] = percentile(run.waits, 0.5);
  json["wait_p99"] = percentile(run.waits, 0.99);
  json["stall"] = run.stall();
  json["rss_bytes"] = peak_rss_bytes();
  json["cpu_seconds"] = joined(report.epochs, 0).cpu_seconds;
  json["stages"] = to_json(stages_from(report.stats, report.from));
  json["bottleneck"] = report.stats.bottleneck;
  const ChunkStats& chunks = report.stats.chunks;
  json["chunks"] = {{"decoded", chunks.decoded},
                    {"reused", chunks.reused},
                    {"missing", chunks.missing},
                    {"decoded_bytes", chunks.decoded_bytes},
                    {"distinct", chunks.distinct},
                    {"decodes_per_chunk", chunks.decodes_per_chunk()},
                    {"memory_for_one_decode", chunks.memory_for_one_decode}};
  const CacheStats cache = cache_from(report.stats, report.from);
  json["cache"] = {{"hits", cache.hits()}, {"misses", cache.misses}, {"hit_ratio", cache.hit_ratio()}};
  json["memory"] = {{"budget", report.stats.memory_budget}, {"peak", report.stats.memory_peak}};
  json["epochs"] = nlohmann::ordered_json::array();
  for (const EpochRun& epoch : report.epochs) json["epochs"].push_back(to_json(epoch));
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string describe_order(const Options& options, const Report& report) {
  const ShuffleStats& shuffle = report.stats.shuffle;
  if (!options.shuffle) return "in order";
  if (shuffle.units == 0) return "shuffled";
  return fmt::format("shuffled in windows of {} of {} units", with_commas(shuffle.window_units),
                     with_commas(shuffle.units));
}

std::string describe_chunks(const ChunkStats& chunks) {
  std::string text = fmt::format("{} decoded to {}, {} used again", with_commas(chunks.decoded),
                                 format_bytes(chunks.decoded_bytes), with_commas(chunks.reused));
  if (chunks.is_repeated())
    text += fmt::format(", each {:.1f} times (memory={}MiB is enough for once)", chunks.decodes_per_chunk(),
                        (chunks.memory_for_one_decode >> 20) + 1);
  if (chunks.missing > 0)
    text += fmt::format(", {} missing (replaced by the fill value)", with_commas(chunks.missing));
  return text;
}

std::string describe_run(const Options& options, const Report& report) {
  std::string text =
      fmt::format("batches of {}, {}, {}", options.batch, report.fields, describe_order(options, report));
  if (options.transform != "none")
    text = fmt::format("{} {}{}, {}", options.transform, options.size,
                       options.antialias ? "" : " without antialias", text);
  if (options.sleep_seconds > 0)
    text += fmt::format(", {} of sleep a batch", format_seconds(options.sleep_seconds));
  if (options.limit_batches > 0) text += fmt::format(", {} batches an epoch", options.limit_batches);
  return text;
}

void print_screen(const Options& options, const Source& source, const Report& report) {
  const EpochRun run = joined(report.epochs, report.from);
  const Hardware hardware = find_hardware();
  const double batch_bytes_rate = run.seconds > 0 ? static_cast<double>(run.bytes) / run.seconds : 0;
  fmt::print("{}: {}, {} samples, {}{}\n", options.source.uri, source.kind(), with_commas(source.size()),
             format_bytes(source.storage().stored_bytes), source.storage().arrays.empty() ? "" : " decoded");
  fmt::print("{}\n", describe_run(options, report));
  fmt::print("{} of {} usable cores, {}\n\n",
             report.stats.threads == 1 ? "1 thread" : fmt::format("{} threads", report.stats.threads),
             hardware.usable_cores, hardware.cpu);
  fmt::print("  throughput   {} samples/s, {}/s", with_commas(run.throughput()),
             format_bytes(batch_bytes_rate));
  if (report.from > 0) fmt::print("   (first epoch {})", with_commas(report.epochs.front().throughput()));
  fmt::print("\n  first batch  {}\n", format_seconds(report.epochs.front().first_batch_seconds));
  fmt::print("  wait         p50 {}, p99 {}\n", format_seconds(percentile(run.waits, 0.5)),
             format_seconds(percentile(run.waits, 0.99)));
  fmt::print("  stall        {} of the time{}\n", format_percent(run.stall()),
             options.sleep_seconds > 0 ? "" : " (without --sleep the consumer only waits)");
  fmt::print("  memory       {} peak of a budget of {}, rss {}\n", format_bytes(report.stats.memory_peak),
             format_bytes(report.stats.memory_budget), format_bytes(peak_rss_bytes()));
  if (!report.stats.cache_tiers.empty()) fmt::print("  cache        {}\n", describe_cache(report));
  const ChunkStats& chunks = report.stats.chunks;
  if (chunks.decoded + chunks.missing > 0) fmt::print("  chunks       {}\n", describe_chunks(chunks));
  fmt::print("  cpu          {} in {} of wall clock\n\n",
             format_seconds(joined(report.epochs, 0).cpu_seconds),
             format_seconds(joined(report.epochs, 0).seconds));
  const std::string advice = advice_for(report.stats);
  fmt::print("{}\n  bottleneck   {}{}\n", stage_table(stages_from(report.stats, report.from)),
             report.stats.bottleneck, advice.empty() ? "" : fmt::format(" ({})", advice));
}

Status run(Options& options) {
  if (options.shuffle && options.no_shuffle)
    return fail(ErrorCode::kInvalidArgument, "--shuffle and --no-shuffle: give one of them");
  options.shuffle = !options.no_shuffle;
  const auto source = open(options.source, Index::kKept);
  if (!source) return std::unexpected(source.error());
  if (options.transform.empty()) options.transform = image_field(**source) ? "train" : "none";
  const auto settings = loader_options(options, **source);
  if (!settings) return std::unexpected(settings.error());
  const auto loader = Loader::open(*source, *settings);
  if (!loader) return std::unexpected(loader.error());
  const auto report = measure(**loader, options);
  if (!report) return std::unexpected(report.error());
  if (options.json)
    print_json(options, **source, *report);
  else
    print_screen(options, **source, *report);
  return {};
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(DType::kComplex128); ++i)
    names.emplace_back(name_of(static_cast<DType>(i)));
  return names;
}

void add_pipeline_options(CLI::App& command, Options& options) {
  command
      .add_option("--transform", options.transform,
                  "train, eval or none; default: train for images, none for arrays")
      ->type_name("NAME")
      ->check(one_of({"train", "eval", "none"}));
  command.add_option("--size", options.size, "Side of the images that train and eval make")
      ->type_name("PIXELS")
      ->check(whole_number(1, 16384))
      ->capture_default_str();
  command.add_flag_callback(
      "--no-antialias", [&options] { options.antialias = false; }, "Plain bilinear resizing");
  command
      .add_option("--dtype", options.dtype,
                  "Of the batches; default: float32 after train and eval, else as stored")
      ->type_name("DTYPE")
      ->check(one_of(dtype_names()));
  command.add_option("--layout", options.layout, "NCHW or NHWC")
      ->type_name("LAYOUT")
      ->check(one_of({"NCHW", "NHWC"}))
      ->capture_default_str();
  command.add_flag("--shuffle", options.shuffle, "In random order (the default)");
  command.add_flag("--no-shuffle", options.no_shuffle, "In stored order");
  command.add_option("--seed", options.seed, "Of order and transforms")
      ->type_name("N")
      ->check(whole_number(0, UINT64_MAX))
      ->capture_default_str();
}

}  // namespace

Command add_bench(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("bench", "How fast a source loads on this machine, and what holds it back");
  add_source_option(*command, options->source);
  command->add_option("--batch", options->batch, "Samples in a batch")
      ->type_name("N")
      ->check(whole_number(1, 10'000'000))
      ->capture_default_str();
  add_threads_option(*command, options->threads);
  command->add_option("--epochs", options->epochs, "How often to load it all")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--limit-batches", options->limit_batches, "Stop each epoch after so many batches")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000'000));
  command->add_option("--sleep", options->sleep_seconds, "After each batch, in place of a training step")
      ->type_name("SECONDS")
      ->check(seconds_up_to(3600));
  add_size_option(*command, "--memory", options->memory_bytes,
                  "Memory budget, such as 4GiB, the cache included; default: a quarter of what is free, and\n"
                  "the cache");
  add_size_option(*command, "--cache", options->cache_bytes,
                  "Memory to keep samples in, such as 8GiB; default: none");
  command->add_option("--cache-form", options->cache_form, "What is kept: auto, encoded or decoded")
      ->type_name("FORM")
      ->check(one_of({"auto", "encoded", "decoded"}))
      ->capture_default_str();
  command->add_flag_callback(
      "--no-revalidate", [options] { options->revalidate = false; },
      "Use what is cached without looking whether the data have changed");
  add_pipeline_options(*command, *options);
  command->add_flag("--json", options->json, "Print one JSON object on one line instead of the screen");
  command->footer(kFooter);
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
