#include "store/hub/hub_location.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "store/object_key.h"

namespace penstock {
namespace {

constexpr std::string_view kHubScheme = "hf://", kMainRevision = "main";

std::unexpected<Error> bad_hub_key(std::string_view key, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}; names of the Hub are like hf://datasets/owner/name@revision/path", what),
              {std::string(key), -1, -1, -1});
}

std::string encoded_for_hub(std::string_view text, bool keeps_slashes) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~").contains(c);
    if (is_plain || (c == '/' && keeps_slashes))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

std::string_view cut_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

bool is_hub_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._").contains(c);
  });
}

}  // namespace

Result<HubKey> parse_hub_key(std::string_view key) {
  std::string_view rest = key;
  if (!rest.starts_with(kHubScheme)) return bad_hub_key(key, "not a name of the Hub");
  rest.remove_prefix(kHubScheme.size());
  if (rest.contains('?') || rest.contains('#')) return bad_hub_key(key, "a name of the Hub has no query");
  HubKey found;
  found.kind = "models";
  if (rest.starts_with("datasets/") || rest.starts_with("spaces/")) found.kind = cut_part(rest);
  const std::string_view owner = cut_part(rest);
  std::string_view name = cut_part(rest);
  std::string revision(kMainRevision);
  if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
    const auto decoded = percent_decoded(name.substr(at + 1));
    name = name.substr(0, at);
    if (!decoded || decoded->empty() || decoded->contains('\0')) return bad_hub_key(key, "no proper revision");
    revision = *decoded;
    if (revision == "refs" && (rest.starts_with("convert/") || rest.starts_with("pr/"))) {
      const std::string_view space = cut_part(rest);
      revision = fmt::format("refs/{}/{}", space, cut_part(rest));
    }
  }
  if (!is_hub_name(owner) || !is_hub_name(name)) return bad_hub_key(key, "no owner and name of a repository");
  found.repository = fmt::format("{}/{}", owner, name);
  found.revision = std::move(revision);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  found.path = rest;
  for (std::string_view parts = found.path; !parts.empty();) {
    const std::string_view part = cut_part(parts);
    if (part.empty() || part == "." || part == "..") return bad_hub_key(key, "a path with empty parts or dots");
  }
  return found;
}

Result<HubLocation> HubLocation::make(std::string endpoint) {
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  while (endpoint.ends_with('/')) endpoint.pop_back();
  auto url = parse_http_url(endpoint);
  if (!url) return std::unexpected(std::move(url).error());
  HubLocation location;
  location.endpoint_ = std::move(endpoint);
  location.server_ = *std::move(url);
  return location;
}

std::string HubLocation::resolve_url(const HubKey& key, std::string_view commit) const {
  const std::string prefix = key.kind == "models" ? "" : "/" + key.kind;
  return fmt::format("{}{}/{}/resolve/{}/{}", endpoint_, prefix, key.repository, encoded_for_hub(commit, false),
                     encoded_for_hub(key.path, true));
}

std::string HubLocation::api_url(const HubKey& key, std::string_view function, std::string_view revision) const {
  return fmt::format("{}/api/{}/{}/{}/{}", endpoint_, key.kind, key.repository, function, encoded_for_hub(revision, false));
}

std::string HubLocation::tree_url(const HubKey& key, std::string_view commit, bool is_recursive) const {
  const std::string path = key.path.empty() ? "" : "/" + encoded_for_hub(key.path, true);
  return fmt::format("{}{}?recursive={}&expand=false", api_url(key, "tree", commit), path, is_recursive);
}

std::string HubLocation::paths_url(const HubKey& key, std::string_view commit) const {
  return api_url(key, "paths-info", commit);
}

std::string HubLocation::revision_url(const HubKey& key) const { return api_url(key, "revision", key.revision); }

}  // namespace penstock
