#include "store/s3/s3_signer.h"

#include <fmt/format.h>

#include "base/text/lower_case.h"
#include "store/s3/sigv4.h"

namespace penstock {

Sha256 S3Signer::key_of(const S3Credentials& credentials, std::string_view day, const std::string& region) {
  const std::string scope = fmt::format("{}/{}", day, region);
  const MutexLock lock(mutex_);
  if (scope != key_scope_ || credentials.secret_access_key != key_secret_) {
    key_ = signing_key(credentials.secret_access_key, day, {region, "s3"});
    key_scope_ = scope;
    key_secret_ = credentials.secret_access_key;
  }
  return key_;
}

Result<std::vector<HttpHeader>> S3Signer::sign(const UnsignedRequest& request,
                                               std::chrono::system_clock::time_point now) {
  auto current = credentials_->current();
  if (!current) return std::unexpected(std::move(current).error());
  const S3Credentials& credentials = **current;
  if (credentials.is_anonymous) return std::vector<HttpHeader>();
  if (!credentials.bearer_token.empty())
    return std::vector<HttpHeader>{{"Authorization", "Bearer " + credentials.bearer_token}};
  const bool has_body = request.method == "PUT" || request.method == "POST";
  const std::string_view payload = has_body ? request.payload_sha256 : kEmptySha256;
  const std::string date = amz_date(now), region = location_->region_of(request.url);
  std::vector<HttpHeader> added = {{"x-amz-content-sha256", std::string(payload)}, {"x-amz-date", date}};
  if (!credentials.session_token.empty()) added.push_back({"x-amz-security-token", credentials.session_token});
  std::vector<HttpHeader> to_sign = added;
  const std::uint16_t usual = request.url.scheme == "https" ? 443 : 80;
  to_sign.push_back({"host", request.url.host + (request.url.port == usual ? "" : fmt::format(":{}", request.url.port))});
  for (const HttpHeader& header : request.headers) {
    std::string name = lower_case(header.name);
    if (name.starts_with("x-amz-") || name.starts_with("x-goog-") || name == "content-md5" || name == "content-type")
      to_sign.push_back({std::move(name), header.value});
  }
  const Sha256 key = key_of(credentials, std::string_view(date).substr(0, 8), region);
  added.push_back({"Authorization", sigv4_authorization(request.method, request.url.target, std::move(to_sign), payload,
                                                        credentials.access_key_id, key, date, {region, "s3"})});
  return added;
}

}  // namespace penstock
