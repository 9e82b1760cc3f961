// The statistics of a field as people read them.
#pragma once

#include <string>
#include <vector>

#include "statistics/field_statistics.h"

namespace penstock::cli {

// Several lines; class names stand beside the labels they belong to.
std::string describe(const FieldStatistics& statistics, const std::vector<std::string>& classes);

}  // namespace penstock::cli
