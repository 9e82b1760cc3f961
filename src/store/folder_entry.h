// The entries of a listing: the objects and folders below a key.
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
  std::string name;  // below the listed folder: "a.jpg", or "cats/a.jpg" in a recursive listing; never empty
  bool is_folder = false;
  // The size and version of an object. Empty for folders, for objects that were not asked for
  // (ListOptions::wants_version), and for files that cannot be examined, which reading them will explain.
  std::optional<ObjectVersion> version;
};

// Whether `a` comes before `b` by the bytes of their keys, where the key of a folder ends with '/'.
bool comes_before_by_key(const FolderEntry& a, const FolderEntry& b);

struct ListOptions {
  // Chooses the objects whose version is wanted; empty: none. Each costs a file store a system call, so callers
  // choose by name. It is called once per object, on the thread that lists.
  std::function<bool(std::string_view name)> wants_version = {};
  // Chooses the entries; empty: all. The others take no memory. A recursive listing also asks for each folder, before
  // the objects in it, and leaves out everything below a folder that is not wanted. A folder may be asked for again.
  std::function<bool(std::string_view name, bool is_folder)> wants = {};
  // Lists the objects at any depth and no folders. Otherwise, the objects and folders right below the key are listed.
  bool is_recursive = false;
};

// What a key names. Where an object store has an object and a folder of the same key, it is the object.
enum class KeyKind : std::uint8_t { kNothing, kObject, kFolder };

// Tells a folder from all others, whatever links lead to it.
struct FolderIdentity {
  std::uint64_t device = 0, number = 0;
  auto operator<=>(const FolderIdentity&) const = default;
};

}  // namespace penstock
