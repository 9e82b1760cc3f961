// URLs of objects on web servers, and the rules for redirects.
//
// The parser is our own, so that what is checked is what is sent. It accepts less than the standard allows (no numeric
// addresses but four decimal numbers, no backslashes, no control characters), so that no other parser can read the
// same text in another way.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text/public_uri.h"
#include "penstock/result.h"

struct sockaddr;

namespace penstock {

struct HttpUrl {
  std::string scheme;    // "http" or "https"
  std::string userinfo;  // "user:password" as it was written
  std::string host;      // lower case; an IPv6 address in its brackets
  std::uint16_t port = 0;
  std::string target;  // path and query, percent-encoded; begins with '/'

  std::string text() const;   // the whole URL
  std::string shown() const;  // without userinfo and query, for messages
  std::string server() const { return scheme + "://" + host + ":" + std::to_string(port); }
  bool same_server(const HttpUrl& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
  bool operator==(const HttpUrl&) const = default;
};

// Spaces and bytes beyond ASCII in the path are percent-encoded; a fragment is dropped.
Result<HttpUrl> parse_http_url(std::string_view url);

enum class Network : std::uint8_t {
  kPublic,
  kInner,        // loopback, link-local, private: servers outside must not redirect us there
  kCredentials,  // where clouds hand out credentials: never contacted
};

// As far as the name tells: names with dots count as public until they are resolved.
Network network_of_host(std::string_view host);
Network network_of_address(const sockaddr* address);

struct RedirectRules {
  bool allow_other_hosts = true;
  bool from_inner = false;  // the first server is within the inner network itself
};

// The URL that `location` leads to from `from`. Fails if the rules forbid it. Userinfo is kept only for the same server.
Result<HttpUrl> redirect_target(const HttpUrl& from, std::string_view location, const RedirectRules& rules);

}  // namespace penstock
