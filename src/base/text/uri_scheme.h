// Tells URLs from paths. Every part of the library that must know asks here, or asks a store.
#pragma once

#include <string_view>

namespace penstock {

// "https" for "https://host/x"; empty for a path. A scheme comes before any slash, so "a/b://c" is a path.
inline std::string_view uri_scheme(std::string_view uri) {
  const std::size_t end = uri.find("://");
  return end == std::string_view::npos || uri.find('/') < end ? std::string_view() : uri.substr(0, end);
}

inline bool is_url(std::string_view uri) { return !uri_scheme(uri).empty(); }

}  // namespace penstock
