#include "store/http/http_url.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/text/lower_case.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxUrlBytes = 8192;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::unexpected<Error> bad_url(std::string_view url, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("not a usable URL ({})", why),
              {without_secrets(url), -1, -1, -1});
}

// "host" out of "host:80" and "[::1]:80"; what is left begins with ':' or is empty.
std::string_view take_host(std::string_view& authority) {
  std::size_t end = authority.starts_with('[') ? authority.find(']') + 1 : authority.find(':');
  if (authority.starts_with('[') && end == 0) end = authority.size();
  end = std::min(end, authority.size());
  const std::string_view host = authority.substr(0, end);
  authority.remove_prefix(end);
  return host;
}

bool is_usable_host(std::string_view host) {
  if (host.empty() || host.size() > 255) return false;
  if (host.front() == '[') {
    in6_addr address{};
    if (host.find_first_not_of("[]0123456789abcdefABCDEF:.") != std::string_view::npos) return false;
    return host.back() == ']' && host.size() > 2 &&
           inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) == 1;
  }
  for (const char c : host)
    if (!is_letter(c) && !is_digit(c) && c != '.' && c != '-' && c != '_') return false;
  if (host.front() == '.' || host.find("..") != std::string_view::npos) return false;
  // A host that could be read as a number must be one that all parsers read alike.
  std::string_view last = host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
  last = last.substr(last.rfind('.') + 1);
  if (!last.empty() && is_digit(last.front())) {
    in_addr address{};
    return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
  }
  return true;
}

Result<std::string> encoded_target(std::string_view rest, std::string_view url) {
  std::string target;
  if (!rest.starts_with('/')) target = "/";
  for (const char c : rest) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') return bad_url(url, "backslash");
    const bool plain = byte < 0x80 && std::strchr(" \"<>^`{|}", c) == nullptr;
    if (plain)
      target += c;
    else
      target += fmt::format("%{:02X}", byte);
  }
  return target;
}

Network network_of_v4(std::uint32_t address) {
  const auto within = [address](std::uint32_t net, int bits) { return (address ^ net) >> (32 - bits) == 0; };
  // Amazon, Google, Azure and others; Amazon's containers and pods; Alibaba.
  if (address == 0xA9FEA9FEu || address == 0xA9FEAA02u || address == 0xA9FEAA17u ||
      address == 0x646464C8u)
    return Network::kCredentials;
  const bool inner = within(0x00000000u, 8) || within(0x0A000000u, 8) || within(0x64400000u, 10) ||
                     within(0x7F000000u, 8) || within(0xA9FE0000u, 16) || within(0xAC100000u, 12) ||
                     within(0xC0000000u, 24) || within(0xC0A80000u, 16) || within(0xC6120000u, 15) ||
                     within(0xE0000000u, 3);
  return inner ? Network::kInner : Network::kPublic;
}

Network network_of_v6(const in6_addr& address) {
  const std::uint8_t* b = address.s6_addr;
  const auto v4_at = [b](int i) {
    return std::uint32_t{b[i]} << 24 | std::uint32_t{b[i + 1]} << 16 | std::uint32_t{b[i + 2]} << 8 |
           b[i + 3];
  };
  const auto starts_with = [b](std::initializer_list<std::uint8_t> prefix) {
    return std::equal(prefix.begin(), prefix.end(), b);
  };
  if (starts_with({0xFD, 0x00, 0x0E, 0xC2})) return Network::kCredentials;
  if (std::all_of(b, b + 10, [](std::uint8_t byte) { return byte == 0; })) {
    if (b[10] == 0xFF && b[11] == 0xFF) return network_of_v4(v4_at(12));
    return Network::kInner;  // ::, ::1 and the old IPv4-compatible ones
  }
  if (starts_with({0x00, 0x64, 0xFF, 0x9B})) return network_of_v4(v4_at(12));  // NAT64
  if (starts_with({0x20, 0x02})) return network_of_v4(v4_at(2));               // 6to4
  const bool inner = (b[0] & 0xFE) == 0xFC || (b[0] == 0xFE && (b[1] & 0x80) == 0x80) || b[0] == 0xFF;
  return inner ? Network::kInner : Network::kPublic;
}

// Merges "../x" and the like, as RFC 3986 5.2 has it, without squeezing dots out of `base`.
std::string resolved_target(const std::string& base, std::string_view relative) {
  if (relative.starts_with('/')) return std::string(relative);
  const std::string path = base.substr(0, base.find('?'));
  if (relative.empty()) return base;
  if (relative.starts_with('?')) return path + std::string(relative);
  std::string folder = path.substr(0, path.rfind('/') + 1);
  while (true) {
    if (relative.starts_with("./")) {
      relative.remove_prefix(2);
    } else if (relative.starts_with("../")) {
      relative.remove_prefix(3);
      if (folder.size() > 1) folder.erase(folder.rfind('/', folder.size() - 2) + 1);
    } else {
      return folder + std::string(relative);
    }
  }
}

}  // namespace

std::string HttpUrl::shown() const { return without_secrets(text()); }

std::string HttpUrl::text() const {
  const std::uint16_t usual = scheme == "https" ? 443 : 80;
  return scheme + "://" + (userinfo.empty() ? "" : userinfo + "@") + host +
         (port == usual ? "" : fmt::format(":{}", port)) + target;
}

Result<HttpUrl> parse_http_url(std::string_view url) {
  if (url.size() > kMaxUrlBytes) return bad_url(url.substr(0, 200), "too long");
  for (const char c : url)
    if ((c >= 0 && c < 0x20) || c == 0x7F) return bad_url(url, "control character");
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return bad_url(url, "no http:// before it");
  HttpUrl parsed;
  parsed.scheme = lower_case(url.substr(0, colon));
  if (parsed.scheme != "http" && parsed.scheme != "https") return bad_url(url, "neither http nor https");
  std::string_view rest = url.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, slash);
  rest.remove_prefix(slash);

  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parsed.userinfo = authority.substr(0, at);
    for (const char c : parsed.userinfo)
      if (c <= ' ' || c == 0x7F || c == '@' || c == '\\' || c == '[' || c == ']')
        return bad_url(url, "odd character before the host");
    authority.remove_prefix(at + 1);
  }
  const std::string_view host = take_host(authority);
  if (!is_usable_host(host)) return bad_url(url, "odd host");
  parsed.host = lower_case(host);
  parsed.port = parsed.scheme == "https" ? 443 : 80;
  if (!authority.empty()) {
    authority.remove_prefix(1);  // ':'
    const auto [end, error] =
        std::from_chars(authority.data(), authority.data() + authority.size(), parsed.port);
    if (error != std::errc() || end != authority.data() + authority.size() || parsed.port == 0)
      return bad_url(url, "odd port");
  }
  auto target = encoded_target(rest, url);
  if (!target) return std::unexpected(std::move(target).error());
  parsed.target = std::move(*target);
  return parsed;
}

Network network_of_host(std::string_view host) {
  std::string name = lower_case(host);
  if (name.ends_with('.')) name.pop_back();
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return network_of_v4(ntohl(v4.s_addr));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  if (inet_pton(AF_INET6, name.c_str(), &v6) == 1) return network_of_v6(v6);
  if (name == "metadata.google.internal") return Network::kCredentials;
  if (name == "localhost" || name.ends_with(".localhost") || name.ends_with(".local") ||
      name.ends_with(".internal"))
    return Network::kInner;
  return Network::kPublic;
}

Network network_of_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof(v4));
    return network_of_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    return network_of_v6(v6.sin6_addr);
  }
  return Network::kInner;  // local sockets
}

Result<HttpUrl> redirect_target(const HttpUrl& from, std::string_view location, const RedirectRules& rules) {
  const auto refused = [&](std::string_view why) {
    return fail(ErrorCode::kNoAccess,
                fmt::format("redirect to {} refused ({})", without_secrets(location.substr(0, 200)), why),
                {from.shown(), -1, -1, -1});
  };
  location = location.substr(0, location.find('#'));
  std::string absolute;
  const std::size_t colon = location.find(':');
  const bool has_scheme = colon != std::string_view::npos && colon > 0 && is_letter(location.front()) &&
                          location.find_first_of("/?") > colon;
  if (has_scheme)
    absolute = location;
  else if (location.starts_with("//"))
    absolute = from.scheme + ":" + std::string(location);
  else
    absolute = from.text().substr(0, from.text().size() - from.target.size()) +
               resolved_target(from.target, location);
  auto to = parse_http_url(absolute);
  if (!to) return refused("not an address of an object on the web");
  if (from.scheme == "https" && to->scheme != "https") return refused("it leaves encryption");
  if (network_of_host(to->host) == Network::kCredentials) return refused("credentials are kept there");
  if (to->host == from.host) {
    // Another port is another server: it gets no password.
    to->userinfo = to->same_server(from) ? from.userinfo : "";
    return to;
  }
  to->userinfo.clear();
  if (!rules.allow_other_hosts) return refused("another host");
  if (network_of_host(to->host) != Network::kPublic && !rules.from_inner)
    return refused("an address of the inner network");
  return to;
}

}  // namespace penstock
