// Descriptions, for people, of the data that a folder on disk has cached: one line of JSON each, without
// duplicates.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// Adds a description. Several processes may write this file at once. It only informs people, so a failure to
// write it is ignored.
void note_contents(const std::string& path, const std::string& words);

// Returns the descriptions, without damaged lines.
std::vector<std::string> read_contents(const std::string& path);

}  // namespace penstock
