// Where the buckets of a store of the S3 kind are: it makes URLs of keys and learns the regions of buckets.
//
// Keys are "s3://bucket/key" or "gs://bucket/key", where the key is text as it is: nothing in it is encoded, and '?'
// and '#' have no meaning.
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/guarded.h"
#include "store/http/http_url.h"

namespace penstock {

struct S3Key {
  std::string bucket, name;  // the name is empty for the bucket itself
};
Result<S3Key> parse_s3_key(std::string_view key);

class S3Location {
 public:
  struct Setup {
    std::string endpoint;  // empty: AWS
    std::string region;    // empty: not known
    std::string addressing;
  };
  static Result<std::shared_ptr<S3Location>> make(Setup setup);

  Result<HttpUrl> url_of_key(const std::string& key) const;
  // Returns the URL of an object, or of the bucket if the name is empty. `query` is encoded already.
  Result<HttpUrl> url_of(const S3Key& key, std::string_view query = {}) const PENSTOCK_EXCLUDES(mutex_);

  // Whether the URL is one of this store's servers, so that its requests carry signatures.
  bool has(const HttpUrl& url) const;
  bool is_encrypted() const { return scheme_ == "https"; }
  // Amazon's servers know checksums that others refuse.
  bool is_aws() const { return is_aws_; }

  // The region by which a request to this URL is signed.
  std::string region_of(const HttpUrl& url) const PENSTOCK_EXCLUDES(mutex_);
  // The server of this URL has said that its bucket is in this region. Returns the URL there; nothing if it is this one
  // and the region was known.
  std::optional<HttpUrl> learn(const HttpUrl& url, const std::string& region) PENSTOCK_EXCLUDES(mutex_);

 private:
  S3Location() = default;
  bool is_in_host(const std::string& bucket) const;
  std::string bucket_of(const HttpUrl& url) const;
  std::string aws_host(const std::string& region) const;

  std::string scheme_, host_, base_path_, first_region_, addressing_;
  std::uint16_t port_ = 443;
  bool is_aws_ = false;
  mutable Mutex mutex_;
  std::map<std::string, std::string, std::less<>> regions_ PENSTOCK_GUARDED_BY(mutex_);  // of buckets
};

}  // namespace penstock
