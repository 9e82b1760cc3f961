// Which letter stands between the cells of a CSV file.
//
// Spreadsheets write semicolons where the comma is the decimal sign, and some programs write tabs into
// files named .csv.
#pragma once

#include <string>
#include <string_view>

#include "penstock/result.h"

namespace penstock {

// A comma where the line of names has one. Else a semicolon or a tab, if the first rows have it as often as
// the line of names; where they do not, that is an error which says how to name the delimiter.
Result<char> find_csv_delimiter(std::string_view text, const std::string& uri);

}  // namespace penstock
