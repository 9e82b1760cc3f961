// penstock inspect: describes the contents of a source, its decoded size, and what fits in memory.
#include <memory>

#include "command.h"
#include "findings_report.h"
#include "sizes.h"
#include "source/chunked_array.h"
#include "source_option.h"
#include "volume_description.h"

namespace penstock::cli {
namespace {

constexpr const char* kFooter =
    "Up to 64 evenly spaced samples are read and decoded (fewer of arrays in large chunks). Samples\n"
    "that cannot be read are listed and do not change the exit code. K is the decoded size divided by\n"
    "the stored size: it tells what it costs to hold decoded samples in memory. The stored size of\n"
    "Zarr is estimated from a few chunks.\n"
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

// "a.zarr", or "a.zarr and 3 more".
std::string title_of(const SourceOption& option, const Source& source) {
  return option.more_stores.empty() ? option.uri : source.uri();
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
  const Report report{title_of(options.source, **source), options.memory_bytes, **source, *findings};
  options.json ? print_json(report) : print_screen(report);
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
