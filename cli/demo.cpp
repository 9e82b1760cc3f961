// penstock demo: shows loading at work, on pictures that it makes itself.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "base/machine.h"
#include "checks.h"
#include "command.h"
#include "demo_images.h"
#include "epoch_run.h"
#include "format.h"
#include "hardware.h"
#include "imagenet.h"
#include "progress_bar.h"
#include "sizes.h"
#include "source/source_storage.h"
#include "stage_table.h"

namespace penstock::cli {
namespace {

constexpr int kSize = 224;

constexpr const char* kFooter =
    "Nothing is downloaded: the images are painted with the statistics of photographs, about\n"
    "500x375 pixels and 80 kB each, in ten class folders. They stay in the folder and are\n"
    "used again next time; delete the folder when you are done.\n"
    "\n"
    "Example:\n"
    "  penstock demo --images 2000 --threads 4";

struct Options {
  std::string folder;
  std::uint64_t images = 400, epochs = 2, batch = 64, memory_bytes = 0;
  unsigned threads = 0;
  bool json = false;
};

struct Data {
  SourcePtr source;
  double making_seconds = 0;  // 0 if the images existed already
};

Result<Data> prepare_data(const Options& options) {
  Data data;
  const DemoImages images{options.folder, options.images, 1};
  if (!is_complete(images)) {
    const auto began = std::chrono::steady_clock::now();
    ProgressBar bar("making images", options.images, "images");
    PENSTOCK_CHECK(make_demo_images(images, options.threads ? options.threads : usable_cpus(),
                                    [&](std::uint64_t done) { bar.show(done); }));
    data.making_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  OpenOptions open;
  open.keep_index = false;  // so that nothing but the folder is left behind
  auto source = open_source(options.folder, open);
  if (!source) return std::unexpected(std::move(source).error());
  data.source = std::move(*source);
  return data;
}

LoaderOptions loader_options(const Options& options) {
  LoaderOptions loader;
  loader.batch_size = options.batch;
  loader.transforms = {{"image", imagenet_train(kSize, true), ""}};
  loader.shuffle = ShuffleMode::kAuto;
  loader.threads = options.threads;
  loader.memory_bytes = options.memory_bytes;
  return loader;
}

void print_data(const Options& options, const Data& data, unsigned threads) {
  const Hardware hardware = find_hardware();
  const std::string how = data.making_seconds > 0 ? "made in " + format_seconds(data.making_seconds)
                                                  : "found from an earlier run";
  fmt::print("Penstock {} on {} ({})\n\n", PENSTOCK_VERSION, hardware.cpu,
             hardware.usable_cores == 1 ? "1 core" : fmt::format("{} cores", hardware.usable_cores));
  fmt::print("  data       {} JPEGs, {}, in {} ({})\n", with_commas(data.source->size()),
             format_bytes(data.source->storage().stored_bytes), options.folder, how);
  fmt::print("  pipeline   shuffle, decode, random resized crop to {}, flip, normalize\n", kSize);
  fmt::print("  batches    {} images, {}\n\n", options.batch,
             threads == 1 ? "1 thread" : fmt::format("{} threads", threads));
  std::fflush(stdout);
}

void print_results(const LoaderStats& stats) {
  fmt::print("\n{}\n", stage_table(stats.stages));
  const std::string advice = advice_for(stats);
  fmt::print("  bottleneck {}{}\n", stats.bottleneck, advice.empty() ? "" : fmt::format(" ({})", advice));
  fmt::print("  memory     {} at most, of a budget of {}\n", format_bytes(stats.memory_peak),
             format_bytes(stats.memory_budget));
}

void print_snippet(const Options& options) {
  fmt::print(
      "\nThe same in Python, with your own folder of images:\n\n"
      "  import penstock as ps\n"
      "  for images, labels in ps.Loader(\"your/folder\", batch_size={}, shuffle=True, transform=[\n"
      "          ps.RandomResizedCrop({}, scale=(0.25, 1)), ps.RandomHorizontalFlip(),\n"
      "          ps.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]): ...\n",
      options.batch, kSize);
}

Result<std::vector<EpochRun>> run_epochs(Loader& loader, const Options& options) {
  std::vector<EpochRun> epochs;
  if (!options.json)
    fmt::print("  {:<10} {:>9} {:>13} {:>10}\n", "epoch", "images/s", "first batch", "seconds");
  for (std::uint64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    EpochRequest request;
    request.label = fmt::format("  epoch {}/{}", epoch, options.epochs);
    request.unit = "images";
    request.batch_size = options.batch;
    std::fflush(stdout);
    auto run = run_epoch(loader, request);
    if (!run) return std::unexpected(std::move(run).error());
    if (!options.json)
      fmt::print("  {:<10} {:>9} {:>13} {:>10.2f}\n", epoch, with_commas(run->throughput()),
                 format_seconds(run->first_batch_seconds), run->seconds);
    epochs.push_back(std::move(*run));
  }
  return epochs;
}

void print_json(const Options& options, const Data& data, const std::vector<EpochRun>& epochs,
                const LoaderStats& stats) {
  nlohmann::ordered_json json = {{"folder", options.folder},
                                 {"images", data.source->size()},
                                 {"stored_bytes", data.source->storage().stored_bytes},
                                 {"made", data.making_seconds > 0},
                                 {"batch", options.batch},
                                 {"threads", stats.threads}};
  json["epochs"] = nlohmann::ordered_json::array();
  for (const EpochRun& epoch : epochs) json["epochs"].push_back(to_json(epoch));
  json["stages"] = to_json(stats.stages);
  json["bottleneck"] = stats.bottleneck;
  json["memory"] = {{"budget", stats.memory_budget}, {"peak", stats.memory_peak}};
  json["hardware"] = to_json(find_hardware());
  json["versions"] = versions_json();
  fmt::print("{}\n", json.dump());
}

Status run(const Options& options) {
  const auto data = prepare_data(options);
  if (!data) return std::unexpected(data.error());
  const auto loader = Loader::open(data->source, loader_options(options));
  if (!loader) return std::unexpected(loader.error());
  if (!options.json) print_data(options, *data, (*loader)->stats().threads);
  const auto epochs = run_epochs(**loader, options);
  if (!epochs) return std::unexpected(epochs.error());
  const LoaderStats stats = (*loader)->stats();
  if (options.json) {
    print_json(options, *data, *epochs, stats);
  } else {
    print_results(stats);
    print_snippet(options);
  }
  return {};
}

}  // namespace

Command add_demo(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  std::error_code ignored;
  options->folder = (std::filesystem::temp_directory_path(ignored) / "penstock-demo").string();
  CLI::App* command =
      app.add_subcommand("demo", "Make a few hundred JPEGs and load them: a first look at Penstock");
  command->add_option("--folder", options->folder, "Where the images are made and kept")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--images", options->images, "How many images")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--epochs", options->epochs, "How often to load them all")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "Images in a batch")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Worker threads; default: all usable cores")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->envname("PENSTOCK_THREADS");
  add_size_option(*command, "--memory", options->memory_bytes,
                  "Memory budget, such as 2GiB; default: a quarter of what is free");
  command->add_flag("--json", options->json, "Print one JSON object instead of the screen");
  command->footer(kFooter);
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
