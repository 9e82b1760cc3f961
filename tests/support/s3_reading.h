// Opens the S3 store on a canned server, with few and quick retries.
#pragma once

#include "store/s3/s3_store.h"
#include "support/http_reading.h"
#include "support/s3_server.h"

namespace penstock {

inline S3Options options_for(const S3Server& server) {
  S3Options options;
  options.endpoint = server.endpoint();
  options.region = "us-east-1";
  options.credentials = []() -> Result<S3Credentials> {
    return S3Credentials{"key-id", "se+cret/key", "", {}, {}};
  };
  return options;
}

inline Result<std::shared_ptr<const Store>> s3_store_on(const S3Server& server, HttpOptions http = impatient()) {
  return make_s3_store("s3://bucket", options_for(server), std::move(http));
}

}  // namespace penstock
