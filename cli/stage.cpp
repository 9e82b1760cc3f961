// penstock stage: copies a data set to a local folder, or verifies such a copy.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/text/public_uri.h"
#include "checks.h"
#include "command.h"
#include "format.h"
#include "penstock/stage.h"
#include "progress_bar.h"
#include "sizes.h"

namespace penstock::cli {
namespace {

constexpr std::size_t kListed = 20;  // damaged files that are listed

constexpr const char* kFooter =
    "SRC is a file, a folder, a pattern in quotes or a URL. A web server cannot list a folder: a URL names\n"
    "files, as in train-{000..146}.tar, a table, whose files are copied too, or a Zarr hierarchy. Names below\n"
    "DST are those below SRC, so that DST opens as the same data set.\n"
    "\n"
    "An interrupted copy is continued by the same command: pieces that are there are verified and count.\n"
    "Files whose size and time (or ETag) have not changed are skipped. Several processes share the work.\n"
    "--verify reads all files of DST and compares them with the checksums of the copying.\n"
    "\n"
    "Exit codes: 0 all is there, 1 copying failed or a file is damaged, 2 wrong usage.\n"
    "\n"
    "Examples:\n"
    "  penstock stage 'https://example.org/train-{000..146}.tar' $SLURM_TMPDIR/train\n"
    "  penstock stage /network/images /scratch/images --json\n"
    "  penstock stage --verify /scratch/images";

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> headers;
  std::uint64_t memory = 64 << 20, piece = 8 << 20;
  unsigned threads = 4;
  bool verify = false, no_sync = false, json = false;
};

nlohmann::ordered_json to_json(const StageReport& report) {
  return {{"objects", report.objects},
          {"bytes", report.bytes},
          {"objects_skipped", report.objects_skipped},
          {"bytes_copied", report.bytes_copied},
          {"seconds", report.seconds}};
}

nlohmann::ordered_json to_json(const StageCheck& check) {
  nlohmann::ordered_json json = {{"objects", check.objects}, {"bytes", check.bytes}, {"damaged", nlohmann::ordered_json::array()}};
  for (const StageDamage& damage : check.damaged)
    json["damaged"].push_back({{"name", damage.name}, {"problem", damage.problem}});
  return json;
}

void print(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// Shows bytes; the total is known once the source was listed.
class StageBar {
 public:
  explicit StageBar(std::string title) : title_(std::move(title)) {}

  void show(const StageProgress& progress) {
    if (!bar_ || progress.total_bytes != total_) {
      total_ = progress.total_bytes;
      bar_ = std::make_unique<ProgressBar>(title_, total_ >> 20, "MiB");
    }
    bar_->show(progress.bytes >> 20);
  }

 private:
  const std::string title_;
  std::uint64_t total_ = 0;
  std::unique_ptr<ProgressBar> bar_;
};

Status copy(const Options& options) {
  const std::string source = options.paths[0], shown = without_secrets(source);
  StageOptions staging;
  staging.headers = options.headers;
  staging.memory_bytes = options.memory;
  staging.piece_bytes = options.piece;
  staging.threads = options.threads;
  staging.sync = !options.no_sync;
  StageBar bar("staging " + shown);
  staging.progress = [&](const StageProgress& progress) {
    bar.show(progress);
    return true;
  };
  const auto report = stage(source, options.paths[1], staging);
  if (!report) return std::unexpected(report.error());
  if (options.json) {
    print(to_json(*report));
  } else {
    fmt::print("{}: {} files, {}; {} copied in {}", printable(options.paths[1]), with_commas(report->objects),
               format_bytes(report->bytes), format_bytes(report->bytes_copied), format_seconds(report->seconds));
    if (report->objects_skipped > 0) fmt::print("; {} files were there", with_commas(report->objects_skipped));
    fmt::print("\n");
  }
  return {};
}

Status check(const Options& options) {
  const std::string& folder = options.paths.back();
  StageBar bar("verifying " + folder);
  const auto checked = check_staged(folder, [&](const StageProgress& progress) {
    bar.show(progress);
    return true;
  });
  if (!checked) return std::unexpected(checked.error());
  if (options.json) {
    print(to_json(*checked));
  } else {
    for (std::size_t i = 0; i < std::min(checked->damaged.size(), kListed); ++i)
      fmt::print("{} {}\n", printable(checked->damaged[i].name), checked->damaged[i].problem);
    if (checked->damaged.empty())
      fmt::print("{}: {} files, {}, all as they were staged\n", printable(folder), with_commas(checked->objects),
                 format_bytes(checked->bytes));
  }
  std::fflush(stdout);  // so that the verdict comes after it, also if both go into one file
  if (checked->damaged.empty()) return {};
  return fail(ErrorCode::kCorrupt,
              fmt::format("{} of {} files differ from what was staged; remove them and stage again",
                          with_commas(checked->damaged.size()), with_commas(checked->objects)),
              {folder, -1, -1, -1});
}

Status run(const Options& options) {
  if (options.verify && options.paths.size() == 1) return check(options);
  if (options.paths.size() != 2)
    return fail(ErrorCode::kInvalidArgument, "wants SRC and DST, or --verify DST; see penstock stage --help");
  PENSTOCK_CHECK(copy(options));
  return options.verify ? check(options) : Status();
}

}  // namespace

Command add_stage(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("stage", "Copies a data set to a local folder, resumable and verified");
  command->add_option("SRC DST", options->paths, "What is copied, and the local folder that receives it")
      ->required()
      ->type_name("");
  command->add_option("--header", options->headers,
                      "\"Authorization: Bearer ...\" for the server of a URL; again for more. Also read from "
                      "PENSTOCK_HTTP_HEADER")
      ->type_name("HEADER")
      ->allow_extra_args(false)
      ->envname("PENSTOCK_HTTP_HEADER");
  command->add_option("--threads", options->threads, "Threads that write, and read local files; default: 4")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  add_size_option(*command, "--memory", options->memory, "For pieces on their way; default: 64MiB");
  add_size_option(*command, "--piece", options->piece, "The size of a piece; default: 8MiB");
  command->add_flag("--no-sync", options->no_sync, "Do not wait for the disk: faster, not safe from power failures");
  command->add_flag("--verify", options->verify, "Compare the files of DST with the checksums of the copying");
  command->add_flag("--json", options->json, "Print one JSON object instead of the screen");
  command->footer(kFooter);
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
