#include "base/text/public_uri.h"

#include <algorithm>

#include "base/text/lower_case.h"
#include "base/text/uri_scheme.h"

namespace penstock {
namespace {

// The offset of the host, after "https://"; npos if the text is a path.
std::size_t begin_of_authority(std::string_view url) {
  const std::string_view scheme = uri_scheme(url);
  return scheme.empty() ? std::string_view::npos : scheme.size() + 3;
}

// The keys of buckets are text as it is: '?' and '#' have no meaning in them.
bool has_query(std::string_view url) {
  const std::string scheme = lower_case(uri_scheme(url));
  return scheme != "s3" && scheme != "gs";
}

// Whether "host", "host:80" or "[::1]:80" has a valid port or none.
bool has_port_or_none(std::string_view authority) {
  const std::size_t colon = authority.find(':', authority.starts_with('[') ? authority.find(']') : 0);
  return colon == std::string_view::npos ||
         authority.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
}

}  // namespace

std::size_t end_of_path(std::string_view url) {
  const std::size_t begin = begin_of_authority(url);
  if (begin == std::string_view::npos || !has_query(url)) return url.size();
  return std::min(url.find_first_of("?#", begin), url.size());
}

std::string without_secrets(std::string_view url) {
  const std::size_t begin = begin_of_authority(url);
  if (begin == std::string_view::npos) return std::string(url);
  std::string_view rest = url.substr(begin);
  const auto cut_before_last_at = [&rest](std::size_t end) {
    const std::size_t at = rest.substr(0, end).rfind('@');
    if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  };
  // Cuts up to the last '@' before the path, because passwords may hold an '@' that was not encoded.
  cut_before_last_at(rest.find_first_of("/?#"));
  // A "port" that is not a number is the beginning of a password with a '/', '?' or '#' in it.
  if (!has_port_or_none(rest.substr(0, rest.find_first_of("/?#")))) cut_before_last_at(std::string_view::npos);
  std::size_t end = rest.find_first_of("?#");
  // What looks like "?name=value" may be a signature that somebody put there, so it is not shown.
  if (!has_query(url)) end = rest.find('=', rest.find('?')) == std::string_view::npos ? rest.npos : rest.find('?');
  return std::string(url.substr(0, begin)) + std::string(rest.substr(0, end));
}

}  // namespace penstock
