#include "base/text/public_uri.h"

#include <algorithm>

namespace penstock {
namespace {

// Where the host begins, after "https://"; npos: the text is a path. "a/b://c" is one, because a scheme stands
// before any slash.
std::size_t begin_of_authority(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const bool is_path = scheme == std::string_view::npos || scheme == 0 || url.find('/') < scheme;
  return is_path ? std::string_view::npos : scheme + 3;
}

// Of "host", "host:80" and "[::1]:80".
bool has_port_or_none(std::string_view authority) {
  const std::size_t colon = authority.find(':', authority.starts_with('[') ? authority.find(']') : 0);
  return colon == std::string_view::npos ||
         authority.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
}

}  // namespace

std::size_t end_of_path(std::string_view url) {
  const std::size_t begin = begin_of_authority(url);
  return begin == std::string_view::npos ? url.size() : std::min(url.find_first_of("?#", begin), url.size());
}

std::string without_secrets(std::string_view url) {
  const std::size_t begin = begin_of_authority(url);
  if (begin == std::string_view::npos) return std::string(url);
  std::string_view rest = url.substr(begin);
  const auto cut_before_last_at = [&rest](std::size_t end) {
    const std::size_t at = rest.substr(0, end).rfind('@');
    if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  };
  // Up to the last '@' before the path: passwords may hold '@' where somebody forgot to encode it.
  cut_before_last_at(rest.find_first_of("/?#"));
  // A "port" that is no number is the beginning of a password with a '/', '?' or '#' in it.
  if (!has_port_or_none(rest.substr(0, rest.find_first_of("/?#")))) cut_before_last_at(std::string_view::npos);
  return std::string(url.substr(0, begin)) + std::string(rest.substr(0, rest.find_first_of("?#")));
}

}  // namespace penstock
