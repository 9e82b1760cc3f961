#include "store/s3/s3_location.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/uri_scheme.h"
#include "store/s3/uri_encoding.h"

namespace penstock {
namespace {

constexpr std::string_view kFirstRegion = "us-east-1";
constexpr std::size_t kMaxKeyBytes = 1024;

bool is_region_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

bool is_bucket_name(std::string_view text) {
  // Old buckets have capitals and underscores.
  return !text.empty() && text.size() <= 255 && text.find("..") == std::string_view::npos && text.front() != '.' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
             std::string_view::npos;
}

}  // namespace

Result<S3Key> parse_s3_key(std::string_view key) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("not a usable URI of a bucket ({})", why),
                {without_secrets(key), -1, -1, -1});
  };
  const std::string_view scheme = uri_scheme(key);
  if (scheme.empty()) return refuse("it begins with no scheme");
  const std::string_view rest = key.substr(scheme.size() + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  S3Key out{std::string(rest.substr(0, slash)), std::string(rest.substr(std::min(slash + 1, rest.size())))};
  if (out.bucket.find_first_of("@:") != std::string::npos)
    return refuse("credentials do not belong there; give them by the environment, a profile, or credentials=");
  if (!is_bucket_name(out.bucket)) return refuse("odd name of a bucket");
  if (out.name.size() > kMaxKeyBytes) return refuse("the key has more than 1024 bytes");
  return out;
}

Result<std::shared_ptr<S3Location>> S3Location::make(Setup setup) {
  std::shared_ptr<S3Location> out(new S3Location());
  if (!setup.region.empty() && !is_region_name(setup.region))
    return fail(ErrorCode::kInvalidArgument, fmt::format("region \"{}\" is not the name of one", setup.region));
  if (!setup.addressing.empty() && setup.addressing != "path" && setup.addressing != "virtual" &&
      setup.addressing != "auto")
    return fail(ErrorCode::kInvalidArgument, "addressing is \"path\", \"virtual\" or \"auto\"");
  out->first_region_ = setup.region.empty() ? kFirstRegion : setup.region;
  out->addressing_ = setup.addressing == "auto" ? "" : setup.addressing;
  out->is_aws_ = setup.endpoint.empty();
  out->scheme_ = "https";
  if (out->is_aws_) return out;
  auto url = parse_http_url(setup.endpoint);
  if (!url) return std::unexpected(std::move(url).error());
  if (!url->userinfo.empty() || url->target.find('?') != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "an endpoint is \"https://host:port\", without a user or a query",
                {url->shown(), -1, -1, -1});
  out->scheme_ = url->scheme;
  out->host_ = url->host;
  out->port_ = url->port;
  out->base_path_ = url->target;
  while (out->base_path_.ends_with('/')) out->base_path_.pop_back();
  return out;
}

std::string S3Location::aws_host(const std::string& region) const {
  return fmt::format("s3.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : "");
}

// A certificate for *.host does not cover a bucket with dots.
bool S3Location::is_in_host(const std::string& bucket) const {
  if (addressing_ == "path" || (addressing_.empty() && !is_aws_)) return false;
  const bool is_lower = bucket.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos;
  return is_lower && (bucket.find('.') == std::string::npos || scheme_ != "https");
}

Result<HttpUrl> S3Location::url_of_key(const std::string& key) const {
  auto parsed = parse_s3_key(key);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  return url_of(*parsed);
}

Result<HttpUrl> S3Location::url_of(const S3Key& key, std::string_view query) const {
  HttpUrl url;
  url.scheme = scheme_;
  url.port = port_;
  url.host = host_;
  if (is_aws_) {
    const MutexLock lock(mutex_);
    const auto known = regions_.find(key.bucket);
    url.host = aws_host(known == regions_.end() ? first_region_ : known->second);
  }
  url.target = base_path_;
  if (is_in_host(key.bucket))
    url.host = key.bucket + "." + url.host;
  else
    url.target += "/" + key.bucket;
  if (url.target == base_path_ || !key.name.empty()) url.target += "/" + uri_encoded(key.name, true);
  if (!query.empty()) url.target += fmt::format("?{}", query);
  return url;
}

std::string S3Location::bucket_of(const HttpUrl& url) const {
  const std::size_t aws = url.host.find(".s3.");
  if (is_aws_ && aws != std::string::npos) return url.host.substr(0, aws);
  if (!is_aws_ && url.host.size() > host_.size() && url.host.ends_with("." + host_))
    return url.host.substr(0, url.host.size() - host_.size() - 1);
  std::string_view path = std::string_view(url.target).substr(std::min(base_path_.size(), url.target.size()));
  if (path.starts_with('/')) path.remove_prefix(1);
  return std::string(path.substr(0, path.find_first_of("/?")));
}

bool S3Location::has(const HttpUrl& url) const {
  if (url.scheme != scheme_ || url.port != port_) return false;
  if (!is_aws_) return url.host == host_ || url.host.ends_with("." + host_);
  // Amazon hosts much else: "s3.REGION", "s3-REGION" or "s3" must be what comes last.
  std::string_view host = url.host;
  for (const std::string_view end : {".cn", ".amazonaws.com"}) {
    if (host.ends_with(end))
      host.remove_suffix(end.size());
    else if (end != ".cn")
      return false;
  }
  const auto take_last = [&host] {
    const std::size_t dot = host.rfind('.');
    const std::string_view last = host.substr(dot + 1);
    host = dot == std::string_view::npos ? std::string_view() : host.substr(0, dot);
    return last;
  };
  const std::string_view last = take_last();
  return last == "s3" || last.starts_with("s3-") || take_last() == "s3";
}

std::string S3Location::region_of(const HttpUrl& url) const {
  const MutexLock lock(mutex_);
  if (regions_.empty()) return first_region_;
  const auto known = regions_.find(bucket_of(url));
  return known == regions_.end() ? first_region_ : known->second;
}

std::optional<HttpUrl> S3Location::learn(const HttpUrl& url, const std::string& region) {
  if (!is_region_name(region)) return std::nullopt;
  const std::string bucket = bucket_of(url);
  {
    const MutexLock lock(mutex_);
    std::string& known = regions_.try_emplace(bucket, first_region_).first->second;
    const bool is_new = known != region;
    known = region;
    if (!is_aws_) return is_new ? std::optional(url) : std::nullopt;
  }
  HttpUrl there = url;
  there.host = (is_in_host(bucket) ? bucket + "." : "") + aws_host(region);
  // Another request of the same bucket may have learned it first.
  return there.host == url.host ? std::nullopt : std::optional(there);
}

}  // namespace penstock
