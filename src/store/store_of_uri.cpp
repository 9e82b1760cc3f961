#include "store/store_of_uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text/lower_case.h"
#include "base/text/uri_scheme.h"
#include "store/azure/azure_store.h"
#include "store/file/file_store.h"
#include "store/http/http_store.h"
#include "store/hub/hub_store.h"
#include "store/s3/s3_options_scope.h"
#include "store/s3/s3_store.h"

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

Result<std::shared_ptr<const Store>> s3_store_for(const std::string& uri, const std::vector<std::string>& headers) {
  const std::string shown = without_secrets(uri);
  for (const std::string& line : headers) PENSTOCK_CHECK(check_header(line, shown));
  S3Options options = S3OptionsScope::current();
  options.headers = headers;
  return make_s3_store(uri, std::move(options));
}

Result<std::shared_ptr<const Store>> azure_store_for(const std::string& uri, const std::vector<std::string>& headers) {
  for (const std::string& line : headers) PENSTOCK_CHECK(check_header(line, without_secrets(uri)));
  auto options = find_azure_options();
  if (!options) return std::unexpected(std::move(options).error());
  options->headers = headers;
  return make_azure_store(uri, *std::move(options));
}

Result<std::shared_ptr<const Store>> hub_store_for(const std::string& uri, const std::vector<std::string>& headers) {
  for (const std::string& line : headers) PENSTOCK_CHECK(check_header(line, without_secrets(uri)));
  auto options = find_hub_options();
  if (!options) return std::unexpected(std::move(options).error());
  options->headers = headers;
  return make_hub_store(uri, *std::move(options));
}

const StoreKindScope*& added_kinds() {
  thread_local const StoreKindScope* innermost = nullptr;
  return innermost;
}

const StoreWrapScope*& wraps() {
  thread_local const StoreWrapScope* innermost = nullptr;
  return innermost;
}

std::span<const StoreKind> store_kinds() {
  static const std::vector<StoreKind> kinds = {
      {{"http", "https"}, http_store_for},
      {{"s3", "gs"}, s3_store_for},
      {{"az"}, azure_store_for},
      {{"hf"}, hub_store_for},
  };
  return kinds;
}

}  // namespace

StoreKindScope::StoreKindScope(StoreKind kind) : kind_(std::move(kind)), outer_(added_kinds()) { added_kinds() = this; }

StoreKindScope::~StoreKindScope() { added_kinds() = outer_; }

// nullptr: no store knows the scheme.
const StoreKind* store_kind_of(std::string_view scheme) {
  const std::string name = lower_case(scheme);
  const auto reads = [&](const StoreKind& kind) { return std::ranges::find(kind.schemes, name) != kind.schemes.end(); };
  for (const StoreKindScope* scope = added_kinds(); scope != nullptr; scope = scope->outer_)
    if (reads(scope->kind_)) return &scope->kind_;
  const auto found = std::ranges::find_if(store_kinds(), reads);
  return found == store_kinds().end() ? nullptr : &*found;
}

bool have_same_kind_of_store(std::string_view uri, std::string_view other) {
  if (!is_url(uri) && !is_url(other)) return true;
  return is_url(uri) == is_url(other) && store_kind_of(uri_scheme(uri)) == store_kind_of(uri_scheme(other));
}

StoreWrapScope::StoreWrapScope(Wrap wrap) : wrap_(std::move(wrap)), outer_(wraps()) { wraps() = this; }

StoreWrapScope::~StoreWrapScope() { wraps() = outer_; }

static Result<std::shared_ptr<const Store>> make_plain_store_for(const std::string& uri,
                                                                 const std::vector<std::string>& headers) {
  if (!is_url(uri)) return std::make_shared<FileStore>();
  if (const StoreKind* const kind = store_kind_of(uri_scheme(uri))) return kind->make(uri, headers);
  const std::string scheme = lower_case(uri_scheme(uri));
  const char* advice = scheme == "file" ? "; give the path without it" : "";
  return fail(ErrorCode::kUnsupported, fmt::format("{}:// is nothing this build reads{}", scheme, advice),
              {without_secrets(uri), -1, -1, -1});
}

Result<std::shared_ptr<const Store>> make_store_for(const std::string& uri,
                                                    const std::vector<std::string>& headers) {
  auto store = make_plain_store_for(uri, headers);
  for (const StoreWrapScope* scope = wraps(); store && scope != nullptr; scope = scope->outer_)
    store = scope->wrap_(*std::move(store), uri);
  return store;
}

}  // namespace penstock
