#include "stage/staged_root.h"

#include <algorithm>

#include "base/text/uri_scheme.h"
#include "source/patches/open_volume.h"
#include "source/source_formats.h"
#include "store/key_path.h"
#include "store/object_key.h"

namespace penstock {
namespace {

std::string without_last_slashes(std::string key) {
  while (key.size() > 1 && key.ends_with('/') && !key.ends_with("://")) key.pop_back();
  return key;
}

bool is_object(const Store& store, const std::string& key) {
  if (store.traits().can_list) {
    const auto kind = store.kind_of(key);
    return kind && *kind == KeyKind::kObject;
  }
  return source_format_of(key) != nullptr || is_tiff_name(key);
}

// The part before the first wildcard or brace, up to the slash.
std::string fixed_folder(const Store& store, const std::string& key) {
  const std::size_t pattern = key.find_first_of(store.traits().can_list ? "*?[{" : "{");
  if (pattern == std::string::npos) return key;
  return folder_of(key.substr(0, pattern));
}

std::string common_folder(const std::string& a, const std::string& b) {
  std::size_t at = 0, end = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at])
    if (a[at++] == '/') end = at - 1;
  const bool a_ends = at == a.size() && (at == b.size() || b[at] == '/');
  const bool b_ends = at == b.size() && (at == a.size() || a[at] == '/');
  return a_ends || b_ends ? a.substr(0, at) : a.substr(0, end);
}

// Whether a URL still names its server.
bool is_meaningful(const std::string& folder, bool is_remote) {
  if (!is_remote) return true;
  const std::size_t slashes = folder.find("://");
  return slashes != std::string::npos && folder.size() > slashes + 3;
}

}  // namespace

std::string folder_of(const std::string& key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string::npos ? "" : without_last_slashes(key.substr(0, slash));
}

std::string staged_root(const Store& store, const std::string& uri, const std::vector<std::string>& uris) {
  const std::string own = fixed_folder(store, without_last_slashes(object_key(uri)));
  std::string common = own;
  for (const std::string& other : uris) {
    const std::string folder = fixed_folder(store, without_last_slashes(object_key(other)));
    common = common_folder(common, folder);
  }
  if (!is_meaningful(common, is_url(uri))) common = own;
  const bool is_itself = common == without_last_slashes(object_key(uri)) ||
                         std::ranges::any_of(uris, [&](const std::string& other) {
                           return common == without_last_slashes(object_key(other));
                         });
  return is_itself && is_object(store, common) ? folder_of(common) : common;
}

}  // namespace penstock
