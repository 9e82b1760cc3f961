// Formats the statistics of a field for people.
#pragma once

#include <string>
#include <vector>

#include "statistics/field_statistics.h"

namespace penstock::cli {

// Returns several lines, with the class name beside each label.
std::string describe(const FieldStatistics& statistics, const std::vector<std::string>& classes);

}  // namespace penstock::cli
