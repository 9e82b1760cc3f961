// The answers of the Hub's interface. They cannot be trusted. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/result.h"
#include "store/object_version.h"

namespace penstock {

struct HubEntry {
  std::string path;  // from the top of the repository
  bool is_folder = false;
  ObjectVersion version;  // of a file: its size, and a number made of the digest of its bytes
};

// A page of a tree, or the answer about some paths: a list of files and folders.
Result<std::vector<HubEntry>> parse_hub_entries(std::string_view json);

// The commit that a revision names: its 40 hexadecimal digits.
Result<std::string> parse_hub_commit(std::string_view json);

// The URL of the next page in a Link header; empty: this is the last one.
std::string next_hub_page(std::string_view link);

// The body of a question about one path.
std::string hub_question(const std::string& path);

}  // namespace penstock
