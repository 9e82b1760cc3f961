#include "store/store_of_uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/lower_case.h"
#include "base/text/uri_scheme.h"
#include "store/file_store.h"
#include "store/http/http_store.h"

namespace penstock {
namespace {

// The store sets these headers itself.
constexpr std::array<std::string_view, 7> kOwnHeaders = {
    "accept-encoding", "connection", "content-length", "host", "if-match", "range", "transfer-encoding"};

// Messages name the header and never show its value.
Status check_header(std::string_view line, const std::string& shown) {
  const auto refuse = [&](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message), {shown, -1, -1, -1});
  };
  const std::string name = lower_case(line.substr(0, line.find(':')));
  if (name.size() == line.size()) return refuse("an HTTP header is written \"Name: value\"; this one has no colon");
  constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-_";
  if (name.empty() || name.find_first_not_of(kNameCharacters) != std::string::npos)
    return refuse("the name of an HTTP header has letters, digits and '-' only");
  if (std::ranges::any_of(line, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }))
    return refuse(fmt::format("the value of the HTTP header \"{}\" has a line break or control character", name));
  if (std::ranges::find(kOwnHeaders, name) != kOwnHeaders.end())
    return refuse(fmt::format("the HTTP header \"{}\" is set by penstock itself", name));
  return {};
}

Result<std::shared_ptr<const Store>> http_store_for(const std::string& uri, const std::vector<std::string>& headers) {
  const std::string shown = without_secrets(uri);
  for (const std::string& line : headers) PENSTOCK_CHECK(check_header(line, shown));
  auto url = parse_http_url(uri);
  if (!url) return std::unexpected(std::move(url).error());
  HttpOptions options;
  options.server = url->server();
  options.userinfo = url->userinfo;
  const std::size_t query = url->target.find('?');
  if (query != std::string::npos) options.query = url->target.substr(query + 1);
  options.headers = headers;
  auto store = make_http_store(std::move(options));
  if (!store) return std::unexpected(std::move(store).error());
  return *store;
}

}  // namespace

bool is_remote(std::string_view uri) { return !uri_scheme(uri).empty(); }

Result<std::shared_ptr<const Store>> make_store_for(const std::string& uri,
                                                    const std::vector<std::string>& headers) {
  if (!is_remote(uri)) return std::make_shared<FileStore>();
  const std::string scheme = lower_case(uri_scheme(uri));
  if (scheme == "http" || scheme == "https") return http_store_for(uri, headers);
  const char* advice = scheme == "file" ? "; give the path without it" : "";
  return fail(ErrorCode::kUnsupported, fmt::format("{}:// is nothing this build reads{}", scheme, advice),
              {without_secrets(uri), -1, -1, -1});
}

}  // namespace penstock
