// Patterns that name several files: "train/{00..99}.npy", "photos/*.jpg".
//
// Braces are expanded without looking at any file. Wildcards (*, ?, [...]) are matched against the listings of the
// store, level by level, as a shell does. Where a store cannot list (HTTP), wildcard characters mean themselves.
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "penstock/result.h"
#include "store/store.h"

namespace penstock {

bool is_pattern(const std::string& path);

// The keys that the pattern names, sorted, without repeats. Braces without a wildcard name objects that should exist,
// so they are returned as written. Fails with kNotFound if wildcards match nothing, and with kTooLarge if braces
// name too many objects.
Result<std::vector<std::string>> expand_pattern(const Store& store, const std::string& pattern);

// The same in the order of the pattern: braces as they are written, and the matches of a wildcard sorted.
Result<std::vector<std::string>> expand_in_order(const Store& store, const std::string& pattern);

}  // namespace penstock
