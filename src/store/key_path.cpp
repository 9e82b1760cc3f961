#include "store/key_path.h"

#include <algorithm>
#include <filesystem>

#include "base/text/uri_scheme.h"

namespace penstock {

bool is_absolute_key(std::string_view key) { return key.starts_with('/') || is_url(key); }

std::string absolute_key(const std::string& key) {
  if (is_url(key)) return key;
  std::error_code error;  // an empty key names nothing, so it stays as it is
  const std::filesystem::path path = std::filesystem::absolute(key, error);
  if (error) return key;
  std::string text = path.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

SplitKey split_key(const std::string& key) {
  if (!is_url(key)) {
    const std::filesystem::path path = std::filesystem::path(key).lexically_normal();
    return {path.parent_path().string(), path.filename().string()};
  }
  const std::size_t host = uri_scheme(key).size() + 3;
  const std::size_t end = std::max(key.find_last_not_of('/') + 1, host);
  const std::size_t slash = key.rfind('/', end - 1);
  return slash < host ? SplitKey{"", key.substr(0, end)} : SplitKey{key.substr(0, slash), key.substr(slash + 1, end - slash - 1)};
}

}  // namespace penstock
