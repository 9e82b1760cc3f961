// An entry of a listing: an object or a folder directly below a key.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "store/object_version.h"

namespace penstock {

struct FolderEntry {
  std::string name;  // without the folder
  bool is_folder = false;
  // The size and version of an object. Empty for folders, for objects that were not asked for
  // (ListOptions::wants_version), and for files that cannot be examined, which reading them will explain.
  std::optional<ObjectVersion> version;
};

struct ListOptions {
  // Chooses the objects whose version is wanted; empty: none. Each costs a file store a system call, so callers
  // choose by name. It is called once per object, on the thread that lists.
  std::function<bool(std::string_view name)> wants_version;
};

// Tells a folder from all others, whatever links lead to it.
struct FolderIdentity {
  std::uint64_t device = 0, number = 0;
  auto operator<=>(const FolderIdentity&) const = default;
};

}  // namespace penstock
