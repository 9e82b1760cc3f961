// What a user may say about a store of the S3 kind, beyond its URI.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "penstock/result.h"
#include "store/s3/s3_credentials.h"

namespace penstock {

struct S3Options {
  // "https://host:port", with a path below which the buckets are. Empty: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the
  // profile's endpoint_url, or else AWS. Google's is known.
  std::string endpoint;
  // Empty: AWS_REGION, AWS_DEFAULT_REGION, the profile's, or what the server says.
  std::string region;
  // Of ~/.aws/config and ~/.aws/credentials. Empty: AWS_PROFILE, or "default".
  std::string profile;
  // "path" (host/bucket/key), "virtual" (bucket.host/key), or empty: virtual on AWS, path on other endpoints.
  std::string addressing;
  bool is_anonymous = false;    // requests are not signed; also with AWS_NO_SIGN_REQUEST=YES
  bool requester_pays = false;  // also with AWS_REQUEST_PAYER=requester
  // Gives the credentials in place of the usual places. Called on a thread of its own, whenever new ones are needed.
  std::function<Result<S3Credentials>()> credentials;
  std::vector<std::string> headers;  // "Name: value", for all requests
};

}  // namespace penstock
