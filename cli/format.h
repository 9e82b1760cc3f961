// Formats numbers and names for people.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::cli {

std::string with_commas(double number);  // "1,020", rounded
inline std::string with_commas(std::uint64_t number) { return with_commas(static_cast<double>(number)); }
std::string format_seconds(double seconds);  // "71 ms", "3.2 s", "4 min 05 s"
std::string format_percent(double share);    // "78 %"; small shares are "< 1 %", not "0 %"
std::string printable(std::string text);     // removes control characters: names come from the data and must not move the cursor

}  // namespace penstock::cli
