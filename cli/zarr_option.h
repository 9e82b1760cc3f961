// The options of a Zarr array or group: --variables, --sample-dim, --select, --isel, --window, --gaps.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "penstock/source.h"

namespace penstock::cli {

struct ZarrOption {
  std::vector<std::string> variables;
  std::string sample_dim;
  std::vector<std::string> select, isel;
  std::vector<std::int64_t> window;  // empty, or history and horizon
  std::string gaps;

  bool is_given() const {
    return !variables.empty() || !sample_dim.empty() || !select.empty() || !isel.empty() || !window.empty() ||
           !gaps.empty();
  }
};

// `option` must outlive the parse.
void add_zarr_option(CLI::App& app, ZarrOption& option);

// A selection by coordinate. "lat=30:60" is a range that includes both ends, "lat=30:60:2" every second entry
// of it, "level=500,850" a list and "level=500" one value. Dates are allowed: "time=2019-01:2019-06".
struct NamedSelection {
  std::string dimension;
  Selection selection;
};
Result<NamedSelection> parse_selection(const std::string& text);

// A selection by position, with Python's rules: "time=0:100", "time=::6", "level=0,3" or "level=-1".
struct NamedPositions {
  std::string dimension;
  Positions positions;
};
Result<NamedPositions> parse_positions(const std::string& text);

Result<ZarrOptions> to_options(const ZarrOption& option);

}  // namespace penstock::cli
