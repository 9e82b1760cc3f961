// penstock statistics: means and deviations for Normalize, class counts, lengths.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bad_table.h"
#include "command.h"
#include "field_statistics.h"
#include "format.h"
#include "progress_bar.h"
#include "sizes.h"
#include "source_option.h"

namespace penstock::cli {
namespace {

constexpr std::uint64_t kListed = 10;  // bad ones

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

using Statistics = std::vector<FieldStatistics>;  // of each field of the source

struct Report {
  SourcePtr source;
  Visit visit;
  Statistics fields;  // those asked for
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
  std::vector<std::unique_ptr<Statistics>> of_threads;
  const auto& fields = report.source->fields();
  const auto new_statistics = [&] {
    auto& made = of_threads.emplace_back(std::make_unique<Statistics>());
    for (const FieldInfo& field : fields) made->emplace_back(field);
    return [mine = made.get()](const SampleWorker::Seen& seen) { (*mine)[seen.field].add(seen); };
  };
  ProgressBar bar("measuring", report.source->size(), "samples");
  VisitOptions visiting;
  visiting.threads = options.threads;
  if (!options.field.empty()) visiting.fields = {options.field};
  visiting.progress = [&](std::uint64_t samples) {
    bar.show(samples);
    return true;
  };
  auto visit = visit_samples(report.source, visiting, new_statistics);
  if (!visit) return std::unexpected(std::move(visit).error());
  report.visit = std::move(*visit);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!options.field.empty() && fields[i].name != options.field) continue;
    for (std::size_t thread = 1; thread < of_threads.size(); ++thread)
      of_threads.front()->at(i).add(of_threads[thread]->at(i));
    report.fields.push_back(of_threads.front()->at(i));
  }
  report.bad = rows_of(bad_shards);
  std::ranges::move(rows_of(*report.source, report.visit.bad), std::back_inserter(report.bad));
  return report;
}

// Labels that the index holds were not read: a set of broken pictures has them, too.
bool has_read_any(const Report& report) {
  const auto is_stored = [](const FieldStatistics& one) { return one.field().form != FieldForm::kIndex; };
  const bool has_stored = std::ranges::any_of(report.fields, is_stored);
  return std::ranges::any_of(report.fields, [&](const FieldStatistics& one) {
    return one.samples() > 0 && (is_stored(one) || !has_stored);
  });
}

void print_screen(const Options& options, const Report& report) {
  const Visit& visit = report.visit;
  fmt::print("{}: {}, {} samples, {} in {}\n", options.source.uri, report.source->kind(),
             with_commas(visit.samples), format_bytes(visit.bytes), format_seconds(visit.seconds));
  for (const FieldStatistics& field : report.fields)
    fmt::print("\n{}", field.describe(report.source->classes()));
  if (report.bad.empty()) return;
  const std::string samples =
      visit.bad_samples == 1 ? "1 sample is" : fmt::format("{} samples are", with_commas(visit.bad_samples));
  fmt::print("\n  {} bad; what can be read of bad ones counts\n{}", samples,
             bad_table(report.bad, kListed, "penstock verify lists them, --json too"));
}

void print_json(const Options& options, const Report& report) {
  nlohmann::ordered_json json = {
      {"uri", options.source.uri},       {"kind", report.source->kind()},
      {"samples", report.visit.samples}, {"bad", report.visit.bad_samples},
      {"bytes", report.visit.bytes},     {"seconds", report.visit.seconds},
      {"threads", report.visit.threads}, {"fields", nlohmann::ordered_json::array()}};
  for (const FieldStatistics& field : report.fields)
    json["fields"].push_back(field.to_json(report.source->classes()));
  json["errors"] = to_json(report.bad);
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Status run(const Options& options) {
  const auto report = measure(options);
  if (!report) return std::unexpected(report.error());
  if (!has_read_any(*report) && !report->bad.empty()) return std::unexpected(report->bad.front().error);
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
