// The options of patches of a volume: --patch, --per-epoch, --labels, --overlap, --region, --axes.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "penstock/source.h"

namespace penstock::cli {

struct PatchOption {
  std::vector<std::int64_t> size, overlap;
  std::uint64_t per_epoch = 0;
  std::string labels, region, axes;

  bool is_given() const { return !size.empty(); }
  // True if an option is given that needs --patch.
  bool has_details() const {
    return per_epoch > 0 || !labels.empty() || !overlap.empty() || !region.empty() || !axes.empty();
  }
};

// `option` must outlive the parse.
void add_patch_option(CLI::App& app, PatchOption& option);

// "0:80,:,10:" as one range per axis; negative numbers count from the end.
Result<std::vector<AxisRange>> parse_region(const std::string& text);
// "ZYX", or the axes before Y and X with their sizes: "Z=30,C=2".
Result<std::vector<PageAxis>> parse_axes(const std::string& text);

Result<PatchOptions> to_options(const PatchOption& option);

}  // namespace penstock::cli
