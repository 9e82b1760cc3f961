// penstock statistics: computes means and deviations for Normalize, class counts and lengths.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bad_table.h"
#include "command.h"
#include "field_description.h"
#include "format.h"
#include "statistics/statistics.h"
#include "progress_bar.h"
#include "sizes.h"
#include "source_option.h"

namespace penstock::cli {
namespace {

constexpr std::uint64_t kListed = 10;  // bad samples that are listed

constexpr const char* kFooter =
    "Images: mean, std, min and max of each channel, divided by 255, with the Normalize(...) to\n"
    "paste. Arrays: as a batch has them; by channel where there are three axes or more and the\n"
    "first is at most 32 (64, if the last is longer), else over all; NaN and infinities are\n"
    "counted apart. Integers and masks: how often each value occurs. Texts: their lengths. std is\n"
    "NumPy's, over all pixels of the set.\n"
    "\n"
    "What cannot be read is left out and listed; the exit code is 1 only where nothing can be.\n"
    "\n"
    "Examples:\n"
    "  penstock statistics data/train\n"
    "  penstock statistics 'shards/*.tar' --field jpg --json\n"
    "  penstock statistics era5.zarr --variables t2m,msl --sample-dim time --select time=2000:2015\n"
    "  penstock statistics stack.tif --patch 16,128,128 --region 0:80,:,:";

struct Options {
  SourceOption source;
  std::string field;
  unsigned threads = 0;
  bool json = false;
};

struct Report {
  SourcePtr source;
  Statistics statistics;
  std::vector<BadRow> bad;
};

Result<Report> measure(const Options& options) {
  Report report;
  std::vector<Error> bad_shards;
  auto source = open(options.source, Index::kKept, &bad_shards);
  if (!source) return std::unexpected(bad_shards.empty() ? source.error() : bad_shards.front());
  source = with_list_of_samples(std::move(*source));
  if (!source) return std::unexpected(std::move(source).error());
  report.source = *source;
  ProgressBar bar("measuring", report.source->size(), "samples");
  VisitOptions visiting;
  visiting.threads = options.threads;
  if (!options.field.empty()) visiting.fields = {options.field};
  visiting.progress = [&](std::uint64_t samples) {
    bar.show(samples);
    return true;
  };
  auto statistics = penstock::measure(report.source, visiting);
  if (!statistics) return std::unexpected(std::move(statistics).error());
  report.statistics = std::move(*statistics);
  report.bad = rows_of(bad_shards);
  std::ranges::move(rows_of(*report.source, report.statistics.visit.bad), std::back_inserter(report.bad));
  return report;
}

void print_screen(const Options& options, const Report& report) {
  const Visit& visit = report.statistics.visit;
  fmt::print("{}: {}, {} samples, {} in {}\n", options.source.uri, report.source->kind(),
             with_commas(visit.samples), format_bytes(visit.bytes), format_seconds(visit.seconds));
  for (const FieldStatistics& field : report.statistics.fields)
    fmt::print("\n{}", describe(field, report.source->classes()));
  if (report.bad.empty()) return;
  const std::string samples =
      visit.bad_samples == 1 ? "1 sample is" : fmt::format("{} samples are", with_commas(visit.bad_samples));
  fmt::print("\n  {} bad; what can be read of bad ones counts\n{}", samples,
             bad_table(report.bad, kListed, "penstock verify lists them, --json too"));
}

void print_json(const Options& options, const Report& report) {
  const Visit& visit = report.statistics.visit;
  nlohmann::ordered_json json = {{"uri", options.source.uri}, {"kind", report.source->kind()},
                                 {"samples", visit.samples},  {"bad", visit.bad_samples},
                                 {"bytes", visit.bytes},      {"seconds", visit.seconds},
                                 {"threads", visit.threads},  {"fields", nlohmann::ordered_json::array()}};
  for (const FieldStatistics& field : report.statistics.fields)
    json["fields"].push_back(field.to_json(report.source->classes()));
  json["errors"] = to_json(report.bad);
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Status run(const Options& options) {
  const auto report = measure(options);
  if (!report) return std::unexpected(report.error());
  if (!report->statistics.has_read_any() && !report->bad.empty()) return std::unexpected(report->bad.front().error);
  if (options.json)
    print_json(options, *report);
  else
    print_screen(options, *report);
  return {};
}

}  // namespace

Command add_statistics(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("statistics", "Mean and std for Normalize, class counts, lengths of texts");
  add_source_option(*command, options->source);
  command->add_option("--field", options->field, "Only this one; default: all")->type_name("NAME");
  add_threads_option(*command, options->threads);
  command->add_flag("--json", options->json, "Print one JSON object instead of the screen");
  command->footer(kFooter);
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
