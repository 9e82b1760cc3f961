// Paths and URLs as users give them.
#pragma once

#include <filesystem>
#include <string>

#include "store/store_of_uri.h"

namespace penstock {

// The absolute path without a slash at its end; URLs are returned as they are.
inline std::string absolute_path(const std::string& path) {
  if (is_remote(path)) return path;
  std::string text = std::filesystem::absolute(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace penstock
