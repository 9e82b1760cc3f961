// Signs the requests of a store of the S3 kind: by SigV4, by a bearer token, or not at all.
#pragma once

#include <memory>

#include "base/guarded.h"
#include "store/http/request_signer.h"
#include "store/s3/credential_cache.h"
#include "store/s3/digest.h"
#include "store/s3/s3_location.h"

namespace penstock {

class S3Signer final : public RequestSigner {
 public:
  S3Signer(std::shared_ptr<const S3Location> location, std::shared_ptr<CredentialCache> credentials)
      : location_(std::move(location)),
        credentials_(std::move(credentials)) {}

  Result<std::vector<HttpHeader>> sign(const UnsignedRequest& request,
                                       std::chrono::system_clock::time_point now) override;
  bool renew() override { return credentials_->renew(); }
  bool may_sign_for(const HttpUrl& url) const override { return location_->has(url); }

 private:
  Sha256 key_of(const S3Credentials& credentials, std::string_view day, const std::string& region)
      PENSTOCK_EXCLUDES(mutex_);

  const std::shared_ptr<const S3Location> location_;
  const std::shared_ptr<CredentialCache> credentials_;
  Mutex mutex_;
  std::string key_scope_ PENSTOCK_GUARDED_BY(mutex_), key_secret_ PENSTOCK_GUARDED_BY(mutex_);
  Sha256 key_ PENSTOCK_GUARDED_BY(mutex_){};
};

}  // namespace penstock
