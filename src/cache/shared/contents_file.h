// What a folder on disk has cached, in words: a line of JSON for each thing, written once.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// Several processes may. It is for people only: where it cannot be written, it is left.
void note_contents(const std::string& path, const std::string& words);

// Lines that are damaged are left out.
std::vector<std::string> read_contents(const std::string& path);

}  // namespace penstock
