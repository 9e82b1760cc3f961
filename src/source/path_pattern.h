// Patterns that name several files: "train/{00..99}.npy", "photos/*.jpg", "s3://bucket/**/*.tar".
//
// Braces are expanded without looking at any file. Wildcards (*, ?, [...]) are matched against the listings of the
// store, level by level, as a shell does. "**" between slashes means any number of folders, none included, and "**" at
// the end means all files at any depth; neither finds what is hidden. Where a store cannot list (HTTP), wildcard
// characters mean themselves. Every store that can list is treated alike, but "?" is no wildcard in the URL that a user
// gives: there it begins the query, which the store keeps (object_key.h).
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "penstock/result.h"
#include "store/store.h"

namespace penstock {

bool is_pattern(const std::string& path);

// Whether the text is to be expanded: it has braces or, where the store can list, wildcards, and is not itself the name
// of an object or a folder. A store that cannot list is not asked for the name. Fails where the store cannot tell.
Result<bool> names_several(const Store& store, const std::string& path);

// The keys that the pattern names, sorted, without repeats. Braces without a wildcard name objects that should exist,
// so they are returned as written. Fails with kNotFound if wildcards match nothing, and with kTooLarge if braces
// name too many objects.
Result<std::vector<std::string>> expand_pattern(const Store& store, const std::string& pattern);

// The same in the order of the pattern: braces as they are written, and the matches of a wildcard sorted.
Result<std::vector<std::string>> expand_in_order(const Store& store, const std::string& pattern);

}  // namespace penstock
