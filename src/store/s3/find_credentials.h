// Looks for the settings and credentials of an S3 store where all tools of AWS look for them.
//
// In this order: the function of the user; the environment; a web identity; the profile's keys, its web identity and
// its credential_process; the container's endpoint; the instance's endpoint. For gs:// only the function, the
// environment (HMAC keys or a bearer token) and the profile. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "store/s3/credential_cache.h"
#include "store/s3/s3_location.h"
#include "store/s3/s3_options.h"

namespace penstock {

struct S3Setup {
  S3Location::Setup location;
  std::shared_ptr<CredentialCache> credentials;
  bool requester_pays = false;
};

// For the scheme "s3" or "gs". Reads the environment and the profile; sends nothing.
Result<S3Setup> find_s3_setup(const std::string& scheme, const S3Options& options);

// Looks at each place once. Fails with kNoAccess if there are no credentials anywhere.
Result<S3Credentials> find_credentials(const std::string& scheme, const std::string& profile, std::stop_token stop);

}  // namespace penstock
