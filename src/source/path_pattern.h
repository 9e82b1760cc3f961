// Globs and brace patterns to a list of paths: "train/{00..99}.npy", "photos/*.jpg".
#pragma once

#include <string>
#include <vector>

#include "penstock/result.h"

namespace penstock {

bool is_pattern(const std::string& path);

// Sorted, without repeats. A brace pattern without wildcard names files that must exist, so it is
// returned as written; a wildcard that matches nothing is an error.
Result<std::vector<std::string>> expand_pattern(const std::string& pattern);

// The same in the order of the pattern: braces as they are written, and what a wildcard matches sorted by name.
Result<std::vector<std::string>> expand_in_order(const std::string& pattern);

}  // namespace penstock
