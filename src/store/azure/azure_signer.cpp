#include "store/azure/azure_signer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text/lower_case.h"
#include "store/s3/digest.h"
#include "store/s3/uri_encoding.h"

namespace penstock {
namespace {

constexpr std::string_view kAzureVersion = "2021-08-06";

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size) - (text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0));
  return bytes;
}

std::string value_of(const std::vector<HttpHeader>& headers, std::string_view name) {
  for (const HttpHeader& header : headers)
    if (lower_case(header.name) == name) return header.value;
  return {};
}

std::string http_time(std::chrono::system_clock::time_point now) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace

std::string azure_text_to_sign(std::string_view method, const HttpUrl& url, const std::vector<HttpHeader>& headers,
                               std::string_view account) {
  std::string text = fmt::format("{}\n", method);
  for (const std::string_view name : {"content-encoding", "content-language", "content-length", "content-md5", "content-type",
                                      "date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"}) {
    const std::string value = value_of(headers, name);
    // A length of zero is signed as nothing.
    text += (name == "content-length" && value == "0" ? "" : value) + "\n";
  }
  std::map<std::string, std::string> own, parameters;
  for (const HttpHeader& header : headers)
    if (std::string name = lower_case(header.name); name.starts_with("x-ms-")) own[std::move(name)] = header.value;
  for (const auto& [name, value] : own) text += fmt::format("{}:{}\n", name, value);
  const std::size_t question = std::min(url.target.find('?'), url.target.size());
  text += fmt::format("/{}{}", account, std::string_view(url.target).substr(0, question));
  for (std::string_view query = std::string_view(url.target).substr(std::min(question + 1, url.target.size())); !query.empty();) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    const auto value = listing_decoded(one.substr(std::min(equals + 1, one.size())));
    parameters[lower_case(one.substr(0, equals))] = value.value_or("");
  }
  for (const auto& [name, value] : parameters) text += fmt::format("\n{}:{}", name, value);
  return text;
}

Result<std::shared_ptr<AzureSigner>> AzureSigner::make(AzureLocation location, std::string_view key) {
  std::string bytes;
  if (!key.empty()) {
    auto decoded = from_base64(key);
    if (!decoded) return fail(ErrorCode::kInvalidArgument, "the key of the Azure account is not base64");
    bytes = *std::move(decoded);
  }
  return std::shared_ptr<AzureSigner>(new AzureSigner(std::move(location), std::move(bytes)));
}

Result<std::vector<HttpHeader>> AzureSigner::sign(const UnsignedRequest& request,
                                                  std::chrono::system_clock::time_point now) {
  std::vector<HttpHeader> added = {{"x-ms-version", std::string(kAzureVersion)}};
  if (key_.empty() || !location_.has(request.url)) return added;
  added.push_back({"x-ms-date", http_time(now)});
  std::vector<HttpHeader> all = request.headers;
  all.insert(all.end(), added.begin(), added.end());
  const std::string text = azure_text_to_sign(request.method, request.url, all, location_.account());
  const Sha256 signature = hmac_sha256(text_as_bytes(key_), text);
  added.push_back({"Authorization", fmt::format("SharedKey {}:{}", location_.account(), base64(signature))});
  return added;
}

}  // namespace penstock
