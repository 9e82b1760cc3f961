#include "source_option.h"

#include <fmt/format.h>

#include "checks.h"
#include "progress_bar.h"

namespace penstock::cli {

void add_source_option(CLI::App& app, SourceOption& option) {
  app.add_option("URI", option.uri, "A folder of images or .npy files, one .npy file, or a pattern")
      ->required()
      ->type_name("");
  app.add_option("--kind", option.kind, "images or npy; default: found out")
      ->type_name("KIND")
      ->check(one_of({"images", "npy"}));
}

Result<SourcePtr> open(const SourceOption& option, Index index) {
  OpenOptions options;
  options.kind = option.kind;
  options.keep_index = index == Index::kKept;
  ProgressBar bar("looking at " + option.uri, 0, "files");
  options.progress = [&](std::uint64_t files) {
    bar.show(files);
    return true;
  };
  options.warn = [](const std::string& message) { fmt::print(stderr, "penstock: warning: {}\n", message); };
  return open_source(option.uri, options);
}

}  // namespace penstock::cli
