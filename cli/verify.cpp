// penstock verify: reads and decodes all samples, and lists the bad ones.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "bad_table.h"
#include "checks.h"
#include "command.h"
#include "format.h"
#include "progress_bar.h"
#include "sizes.h"
#include "source/packed/check_packed.h"
#include "source/packed/open_packed.h"
#include "source_option.h"
#include "store/key_path.h"
#include "store/object_key.h"
#include "store/store_of_uri.h"

namespace penstock::cli {
namespace {

constexpr const char* kFooter =
    "Every field of every sample is read and decoded to its last byte; checksums of TFRecord, gzip,\n"
    "zstd, PNG, .npz and Zarr's crc32c are verified. A flipped bit in a JPEG that still decodes is not\n"
    "noticed: the format has no checksum. A Zarr chunk that is not there is bad; in a sparse array, where\n"
    "such chunks are meant, --missing fill accepts them. Shards are walked through anew, and compared with\n"
    "the index of an earlier run where there is one. What can be read of a broken shard is verified too.\n"
    "Of a packed data set, every byte is compared with the checksums of its manifest and indexes.\n"
    "\n"
    "Exit codes: 0 all is well, 1 something is bad, 2 wrong usage.\n"
    "\n"
    "Examples:\n"
    "  penstock verify data/train\n"
    "  penstock verify 'shards/train-*.tar' --json > report.json\n"
    "  penstock verify https://example.org/era5.zarr --variables t2m --isel time=0:100";

struct Options {
  SourceOption source;
  unsigned threads = 0;
  std::uint64_t limit = 50;
  bool json = false;
};

struct Report {
  SourcePtr source;  // nullptr if it could not be opened
  Visit visit;
  std::vector<BadRow> bad;
  std::size_t bad_shards = 0;

  std::uint64_t good() const { return visit.samples - visit.bad_samples; }
};

// True if the data is at fault, not the command line.
bool is_damage(ErrorCode code) {
  return code == ErrorCode::kCorrupt || code == ErrorCode::kTruncated || code == ErrorCode::kTooLarge ||
         code == ErrorCode::kChanged;
}

// Compares the files of a packed data set with its manifest; of other sources nothing.
Status check_files(const SourceOption& option, std::vector<Error>& bad) {
  const auto store = make_store_for(option.given_uri, option.headers);
  if (!store) return std::unexpected(store.error());
  const std::string folder = folder_of_pack(absolute_key(object_key(option.given_uri)));
  const auto is_packed = is_packed_folder(**store, folder);
  if (!is_packed || !*is_packed) return {};
  ProgressBar bar("comparing checksums", 0, "bytes");
  const auto checked = check_packed(**store, folder, [&](std::uint64_t bytes) {
    bar.show(bytes);
    return true;
  });
  if (!checked) return std::unexpected(checked.error());
  bad.insert(bad.end(), checked->bad.begin(), checked->bad.end());
  return {};
}

Result<Report> verify(const Options& options) {
  Report report;
  std::vector<Error> bad_shards;
  const auto source = open(options.source, Index::kCompared, &bad_shards, MissingChunk::kError);
  if (!source && bad_shards.empty() && !is_damage(source.error().code))
    return std::unexpected(source.error());
  // Where the manifest itself is damaged, opening has reported it.
  if (source) PENSTOCK_CHECK(check_files(options.source, bad_shards));
  report.bad_shards = bad_shards.size();
  // "No samples" is not reported if the errors of the shards already say why.
  if (!source && (bad_shards.empty() || is_damage(source.error().code))) bad_shards.push_back(source.error());
  report.bad = rows_of(bad_shards);
  if (!source) return report;
  auto listed = with_list_of_samples(*source);
  if (!listed) return std::unexpected(std::move(listed).error());
  report.source = std::move(*listed);
  ProgressBar bar("verifying", report.source->size(), "samples");
  VisitOptions visiting;
  visiting.threads = options.threads;
  visiting.progress = [&](std::uint64_t samples) {
    bar.show(samples);
    return true;
  };
  auto visit = visit_samples(report.source, visiting, [] { return [](const SeenField&) {}; });
  if (!visit) return std::unexpected(std::move(visit).error());
  report.visit = std::move(*visit);
  std::ranges::move(rows_of(*report.source, report.visit.bad), std::back_inserter(report.bad));
  return report;
}

std::string verdict_of(const Report& report) {
  std::string text;
  if (report.visit.bad_samples > 0)
    text = fmt::format("{} of {} samples {} bad", with_commas(report.visit.bad_samples),
                       with_commas(report.visit.samples), report.visit.bad_samples == 1 ? "is" : "are");
  if (report.bad_shards > 0)
    text += fmt::format("{}{} cannot be read to {} end", text.empty() ? "" : ", and ",
                        report.bad_shards == 1 ? "1 shard" : fmt::format("{} shards", report.bad_shards),
                        report.bad_shards == 1 ? "its" : "their");
  return text.empty() ? "it cannot be read" : text;
}

void print_screen(const Options& options, const Report& report) {
  fmt::print("{}", options.source.uri);
  if (report.source) {
    const Visit& visit = report.visit;
    fmt::print(": {}\n\n", report.source->kind());
    std::string fields;
    for (const FieldInfo& field : report.source->fields())
      fields += fmt::format("{}{} ({})", fields.empty() ? "" : ", ", field.name, name_of(field.kind));
    fmt::print("  fields     {}\n", fields);
    fmt::print("  samples    {}: {} good, {} bad\n", with_commas(visit.samples), with_commas(report.good()),
               with_commas(visit.bad_samples));
    if (visit.chunks.missing > 0)
      fmt::print("  chunks     {} not there: the fill value stood for them\n",
                 with_commas(visit.chunks.missing));
    fmt::print("  read       {} in {}, {} samples/s with {}\n", format_bytes(visit.bytes),
               format_seconds(visit.seconds),
               with_commas(visit.seconds > 0 ? static_cast<double>(visit.samples) / visit.seconds : 0),
               visit.threads == 1 ? "1 thread" : fmt::format("{} threads", visit.threads));
  } else {
    fmt::print("\n\n  samples    none could be found\n");
  }
  if (report.bad.empty())
    fmt::print("\n  all is well\n");
  else
    fmt::print("\n{}", bad_table(report.bad, options.limit, "--limit shows more, --json all"));
}

void print_json(const Options& options, const Report& report) {
  nlohmann::ordered_json json = {{"uri", options.source.uri}, {"kind", nullptr}};
  if (report.source) json["kind"] = report.source->kind();
  json["samples"] = report.visit.samples;
  json["good"] = report.good();
  json["bad"] = report.visit.bad_samples;
  json["bad_shards"] = report.bad_shards;
  json["bytes"] = report.visit.bytes;
  json["missing_chunks"] = report.visit.chunks.missing;
  json["seconds"] = report.visit.seconds;
  json["threads"] = report.visit.threads;
  json["errors"] = to_json(report.bad);
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Status run(const Options& options) {
  const auto report = verify(options);
  if (!report) return std::unexpected(report.error());
  if (options.json)
    print_json(options, *report);
  else
    print_screen(options, *report);
  std::fflush(stdout);  // so that the verdict comes after it, also if both go into one file
  if (report->bad.empty()) return {};
  return fail(ErrorCode::kCorrupt, verdict_of(*report), {options.source.uri, -1, -1, -1});
}

}  // namespace

Command add_verify(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("verify", "Reads and decodes every sample, and lists what is bad");
  add_source_option(*command, options->source);
  add_threads_option(*command, options->threads);
  command->add_option("--limit", options->limit, "Lines of the table; --json has all")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000'000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object instead of the screen");
  command->footer(kFooter);
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
