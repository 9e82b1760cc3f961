#include "source_option.h"

#include <fmt/format.h>

#include "checks.h"
#include "progress_bar.h"

namespace penstock::cli {
namespace {

struct Opening {
  Result<SourcePtr> source;
  std::vector<std::string> warnings;
  std::vector<Error> bad_shards;
};

Opening look(const SourceOption& option, bool keep_index, bool goes_on) {
  Opening opening;
  OpenOptions options;
  options.kind = option.kind;
  options.keep_index = keep_index;
  ProgressBar bar("looking at " + option.uri, 0, "samples");
  options.progress = [&](std::uint64_t samples) {
    bar.show(samples);
    return true;
  };
  options.warn = [&](const std::string& message) { opening.warnings.push_back(message); };
  if (goes_on) options.on_bad_shard = [&](const Error& error) { opening.bad_shards.push_back(error); };
  opening.source = open_source(option.uri, options);
  return opening;
}

}  // namespace

void add_source_option(CLI::App& app, SourceOption& option) {
  app.add_option("URI", option.uri,
                 "A folder, a file or a pattern: images, .npy, .tar, .tfrecord, .csv, .jsonl")
      ->required()
      ->type_name("");
  app.add_option("--kind", option.kind, "images, npy, tar, tfrecord or manifest; default: found out")
      ->type_name("KIND")
      ->check(one_of({"images", "npy", "tar", "tfrecord", "manifest"}));
}

void add_threads_option(CLI::App& app, unsigned& threads) {
  app.add_option("--threads", threads, "Worker threads; default: all usable cores")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->envname("PENSTOCK_THREADS");
}

Result<SourcePtr> open(const SourceOption& option, Index index, std::vector<Error>* bad_shards) {
  Opening opening = look(option, index != Index::kFresh, bad_shards != nullptr);
  // What an earlier run knew fits sizes and times: the bytes have not been looked at.
  if (index == Index::kCompared && opening.source && (*opening.source)->index_was_kept()) {
    const SourcePtr known = *opening.source;
    opening = look(option, false, bad_shards != nullptr);
    if (opening.source && (*opening.source)->fingerprint() != known->fingerprint())
      opening.bad_shards.push_back(
          {ErrorCode::kChanged,
           fmt::format("the index of an earlier run knows other samples ({}) than there are ({}), "
                       "though no file's size or time has changed",
                       known->size(), (*opening.source)->size()),
           {option.uri, 0, 0, -1},
           false});
  }
  for (const std::string& warning : opening.warnings) fmt::print(stderr, "penstock: warning: {}\n", warning);
  if (bad_shards) *bad_shards = std::move(opening.bad_shards);
  return std::move(opening.source);
}

}  // namespace penstock::cli
