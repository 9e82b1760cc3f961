// Proof of who sends a request to a store of the S3 kind. It is secret: no message, key or file holds it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace penstock {

struct S3Credentials {
  std::string access_key_id, secret_access_key;
  std::string session_token;  // of temporary credentials
  std::string bearer_token;   // Google's, in place of the keys
  std::optional<std::chrono::system_clock::time_point> expires = {};
  bool is_anonymous = false;  // requests are not signed
};

}  // namespace penstock
