#include "store/s3/sigv4.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace penstock {
namespace {

// The parameters sorted by name and value, each with its '='.
std::string canonical_query(std::string_view query) {
  std::vector<std::string> parameters;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    std::string parameter(query.substr(0, end));
    query.remove_prefix(std::min(end + 1, query.size()));
    if (parameter.empty()) continue;
    if (parameter.find('=') == std::string::npos) parameter += '=';
    parameters.push_back(std::move(parameter));
  }
  // By name first: '=' does not take part in the order of names.
  std::ranges::sort(parameters, [](const std::string& a, const std::string& b) {
    const std::size_t a_end = a.find('='), b_end = b.find('=');
    const int order = a.compare(0, a_end, b, 0, b_end);
    return order != 0 ? order < 0 : a.compare(a_end, a.npos, b, b_end, b.npos) < 0;
  });
  return fmt::format("{}", fmt::join(parameters, "&"));
}

// Without blanks around it; several blanks within count as one.
std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : value)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string signed_names(const std::vector<HttpHeader>& sorted) {
  std::string names;
  for (const HttpHeader& header : sorted) names += (names.empty() ? "" : ";") + header.name;
  return names;
}

}  // namespace

std::string amz_date(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Sha256 signing_key(std::string_view secret_access_key, std::string_view day, const SigningScope& scope) {
  const std::string first = fmt::format("AWS4{}", secret_access_key);
  Sha256 key = hmac_sha256(text_as_bytes(first), day);
  for (const std::string_view part : {scope.region, scope.service, std::string_view("aws4_request")})
    key = hmac_sha256(key, part);
  return key;
}

std::string canonical_request(std::string_view method, std::string_view target, const std::vector<HttpHeader>& sorted,
                              std::string_view payload_sha256) {
  const std::size_t path_end = std::min(target.find('?'), target.size());
  std::string text = fmt::format("{}\n{}\n{}\n", method, target.substr(0, path_end),
                                 canonical_query(target.substr(std::min(path_end + 1, target.size()))));
  for (const HttpHeader& header : sorted) text += fmt::format("{}:{}\n", header.name, canonical_value(header.value));
  return text + fmt::format("\n{}\n{}", signed_names(sorted), payload_sha256);
}

std::string sigv4_authorization(std::string_view method, std::string_view target, std::vector<HttpHeader> headers,
                                std::string_view payload_sha256, std::string_view access_key_id, const Sha256& key,
                                std::string_view date, const SigningScope& scope) {
  std::ranges::sort(headers, {}, &HttpHeader::name);
  const std::string request = canonical_request(method, target, headers, payload_sha256);
  const std::string where = fmt::format("{}/{}/{}/aws4_request", date.substr(0, 8), scope.region, scope.service);
  const std::string to_sign =
      fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", date, where, hexadecimal(sha256(text_as_bytes(request))));
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}", access_key_id, where,
                     signed_names(headers), hexadecimal(hmac_sha256(key, to_sign)));
}

}  // namespace penstock
