#include "store/object_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/text/lower_case.h"
#include "base/text/public_uri.h"
#include "base/text/uri_scheme.h"

namespace penstock {
namespace {

constexpr std::size_t kDigestDigits = 16;
constexpr int kMaxDecodings = 4;  // names are never encoded more often in good faith

// Parameters by which the usual stores and networks grant access. They say who may read and until when, and nothing
// about the content. If a parameter is missing from this list, the cache is filled again for each new signature.
constexpr std::array<std::string_view, 27> kAccessNames = {
    "accesskeyid", "access_key", "api-key",  "api_key",        "apikey",         "auth",   "authorization",
    "awsaccesskeyid", "exp",     "expires",  "expiry",         "googleaccessid", "hdnea",  "hdnts",
    "hmac",        "jwt",        "key-pair-id", "ossaccesskeyid", "passwd",      "policy", "pwd",
    "q-ak",        "q-header-list", "q-key-time", "q-url-param-list", "sas",     "sig"};
constexpr std::array<std::string_view, 6> kAccessPrefixes = {"x-amz-", "x-goog-", "x-oss-", "x-obs-", "x-cos-",
                                                             "q-sign"};
constexpr std::array<std::string_view, 5> kAccessParts = {"signature", "token", "password", "secret", "credential"};
// The parameters of Azure's shared access signatures. They are too short to mean the same elsewhere.
constexpr std::array<std::string_view, 20> kAzureNames = {"saoid", "scid", "sdd",   "se",  "ses", "si",  "sip",
                                                          "ske",   "skoid", "sks",  "skt", "sktid", "skv", "sp",
                                                          "spr",   "sr",   "srt",   "ss",  "st",  "suoid"};

std::string name_of_parameter(std::string_view parameter) {
  return lower_case(parameter.substr(0, parameter.find('=')));
}

bool grants_access(std::string_view parameter, bool is_azure) {
  const std::string name = name_of_parameter(parameter);
  const auto is_name = [&](std::string_view other) { return name == other; };
  return std::ranges::any_of(kAccessNames, is_name) ||
         std::ranges::any_of(kAccessPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::ranges::any_of(kAccessParts, [&](std::string_view part) { return name.find(part) != name.npos; }) ||
         (is_azure && (name == "sv" || std::ranges::any_of(kAzureNames, is_name)));
}

// The parameters that select content, sorted; empty if there are none.
std::string selection_of(std::string_view query) {
  std::vector<std::string_view> parameters;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    if (end > 0) parameters.push_back(query.substr(0, end));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(parameters, [&](std::string_view one) { return name_of_parameter(one) == name; });
  };
  const bool is_azure = has("sig") && has("sv");
  std::erase_if(parameters, [&](std::string_view one) { return grants_access(one, is_azure); });
  std::ranges::sort(parameters);
  std::string selection;
  for (const std::string_view parameter : parameters) selection.append(parameter).push_back('&');
  return selection;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded == text ? std::nullopt : std::optional(std::move(decoded));
}

}  // namespace

bool is_selection_digest(std::string_view userinfo) {
  return userinfo.size() == kDigestDigits + 1 && userinfo.front() == '~' &&
         userinfo.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

std::string selection_digest(std::string_view query) {
  query = query.substr(0, query.find('#'));
  if (!query.starts_with('?')) return {};
  const std::string selection = selection_of(query.substr(1));
  return selection.empty() ? "" : fmt::format("~{:016x}", hash_text(selection, 0));
}

std::string object_key(std::string_view url) {
  const std::size_t end = end_of_path(url);
  // The keys of buckets have no query: all of the text names the object. A user is removed as everywhere.
  if (is_url(url) && end == url.size() && url.find_first_of("?#") != std::string_view::npos) {
    const std::size_t host = uri_scheme(url).size() + 3;
    const std::size_t at = url.substr(0, url.find('/', host)).rfind('@');
    return std::string(url.substr(0, host)) + std::string(url.substr(at == url.npos || at < host ? host : at + 1));
  }
  std::string key = without_secrets(url);
  const std::size_t scheme = uri_scheme(key).size();
  if (scheme == 0) return key;
  std::string digest;
  if (end < url.size()) {
    digest = selection_digest(url.substr(end));
  } else {
    const std::string_view authority = url.substr(scheme + 3, url.find('/', scheme + 3) - (scheme + 3));
    const std::string_view userinfo = authority.substr(0, std::min(authority.find('@'), authority.size()));
    if (is_selection_digest(userinfo)) digest = userinfo;
  }
  if (!digest.empty()) key.insert(scheme + 3, digest + "@");
  return key;
}

bool leaves_folder(std::string_view url_path) {
  std::string path(url_path);
  for (int times = 0; auto decoded = percent_decoded(path); ++times) {
    if (times == kMaxDecodings) return true;
    path = *std::move(decoded);
  }
  std::ranges::replace(path, '\\', '/');
  if (path.starts_with('/')) return true;
  std::int64_t depth = 0;
  for (std::size_t begin = 0, end = 0; begin < path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    part.resize(std::min(part.find(';'), part.size()));  // some servers read "..;x" as ".."
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    if (depth < 0) return true;
  }
  return false;
}

}  // namespace penstock
