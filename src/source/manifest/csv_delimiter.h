// Finds the delimiter of a CSV file.
//
// Spreadsheets write semicolons where the comma is the decimal separator, and some programs write tabs into files
// named .csv.
#pragma once

#include <string>
#include <string_view>

#include "penstock/result.h"

namespace penstock {

// Returns a comma if the header line has one. Otherwise returns a semicolon or a tab if the first rows have as
// many of them as the header line; if they do not, fails with a message that explains how to name the delimiter.
Result<char> find_csv_delimiter(std::string_view text, const std::string& uri);

}  // namespace penstock
