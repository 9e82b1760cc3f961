#include "store/azure/azure_location.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/s3/uri_encoding.h"

namespace penstock {
namespace {

constexpr std::string_view kAzureScheme = "az://";

}  // namespace

Result<AzureKey> parse_azure_key(std::string_view key) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}; blobs have names like az://container/name", what),
                {std::string(key.substr(0, key.find('?'))), -1, -1, -1});
  };
  if (!key.starts_with(kAzureScheme)) return bad("not the name of a blob");
  std::string_view rest = key.substr(kAzureScheme.size());
  AzureKey found;
  found.container = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(found.container.size() + 1, rest.size()));
  const bool is_name = !found.container.empty() && std::ranges::all_of(found.container, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '$';
  });
  if (!is_name) return bad("the container's name has small letters, digits and '-' only");
  found.blob = rest;
  return found;
}

Result<AzureLocation> AzureLocation::make(const AzureOptions& options) {
  AzureLocation location;
  location.account_ = options.account;
  location.sas_token_ = options.sas_token;
  std::string endpoint = options.endpoint;
  if (endpoint.empty() && options.account.empty())
    return fail(ErrorCode::kInvalidArgument,
                "az:// names no account; give AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or "
                "AZURE_STORAGE_CONNECTION_STRING");
  if (endpoint.empty()) endpoint = fmt::format("https://{}.blob.core.windows.net", options.account);
  auto server = parse_http_url(endpoint);
  if (!server) return std::unexpected(std::move(server).error());
  location.base_path_ = server->target.substr(0, server->target.find('?'));
  while (location.base_path_.ends_with('/')) location.base_path_.pop_back();
  location.server_ = *std::move(server);
  location.server_.target = "/";
  // A host names its account, and so does the path of the emulator.
  if (location.account_.empty())
    location.account_ = location.base_path_.empty() ? location.server_.host.substr(0, location.server_.host.find('.'))
                                                    : location.base_path_.substr(1);
  return location;
}

Result<HttpUrl> AzureLocation::url_of(const AzureKey& key, std::string_view query) const {
  HttpUrl url = server_;
  url.target = fmt::format("{}/{}", base_path_, key.container);
  if (!key.blob.empty()) url.target += "/" + uri_encoded(key.blob, true);
  for (const std::string_view part : {query, std::string_view(sas_token_)})
    if (!part.empty()) url.target += fmt::format("{}{}", url.target.contains('?') ? '&' : '?', part);
  return url;
}

}  // namespace penstock
