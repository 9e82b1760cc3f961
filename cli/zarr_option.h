// What a Zarr array or group is opened with, as it is typed: --variables, --sample-dim, --select.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "penstock/arrays.h"

namespace penstock::cli {

struct ZarrOption {
  std::vector<std::string> variables;
  std::string sample_dim;
  std::vector<std::string> select;

  bool is_given() const { return !variables.empty() || !sample_dim.empty() || !select.empty(); }
};

// `option` must outlive the parse.
void add_zarr_option(CLI::App& app, ZarrOption& option);

// "lat=30:60" and "level=500": coordinates, both ends included. "time=2019-01:2019-06": dates.
// "time=[0:100]", "time=[::6]" and "level=[3]": entries, as Python's slices count them.
struct NamedSelection {
  std::string dimension;
  Selection selection;
};
Result<NamedSelection> parse_selection(const std::string& text);

Result<ZarrOptions> to_options(const ZarrOption& option);

}  // namespace penstock::cli
