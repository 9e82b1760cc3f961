// Shows the findings of penstock inspect: as a screen for people, and as one JSON object.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "source_findings.h"

namespace penstock::cli {

// A report of one source. Source and findings are borrowed.
struct Report {
  std::string title;  // the name of the source, for people: without passwords
  std::uint64_t memory_bytes = 0;  // the budget whose share of the data is reported
  const Source& source;
  const Findings& findings;

  // The share of the data, 0 to 1, that the budget would hold.
  double share_held(double data_bytes) const {
    return data_bytes > 0 ? std::min(1.0, static_cast<double>(memory_bytes) / data_bytes) : 1.0;
  }
};

// Both print to stdout.
void print_screen(const Report& report);
void print_json(const Report& report);

}  // namespace penstock::cli
