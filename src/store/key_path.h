// Keys as text: which of them are whole, and how a relative path becomes so.
//
// A key is a path or a URL (object_key.h). Only the functions here and in object_key.h look at which of the two it is;
// what can be done with it, the traits of its store say. Pure functions but for the working folder; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Whether the key means the same in every working folder: a URL, or a path that begins at the root.
bool is_absolute_key(std::string_view key);

// The absolute path without a slash at its end. URLs are returned as they are: a server may tell "x" and "x/" apart.
std::string absolute_key(const std::string& key);

struct SplitKey {
  std::string folder;  // "" for a name in the working folder, and for the host of a URL
  std::string name;
};

// The folder of the key and its name there. Parts of a path such as "./" and "../" are resolved first.
SplitKey split_key(const std::string& key);

}  // namespace penstock
