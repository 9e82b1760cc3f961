// AWS Signature Version 4: what proves to a server of the S3 kind who sends a request.
//
// The signature covers the method, the path, the query and the chosen headers, so a request is signed as it is sent.
// Pure functions; thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "store/http/request_signer.h"
#include "store/s3/digest.h"

namespace penstock {

struct S3Credentials;

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
inline constexpr std::string_view kEmptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Where a signature is valid.
struct SigningScope {
  std::string_view region, service;  // "us-east-1", "s3"
};

// "20130524T000000Z"
std::string amz_date(std::chrono::system_clock::time_point time);

// The key that all signatures of one day share: it costs four of the five HMACs, so signers keep it.
Sha256 signing_key(std::string_view secret_access_key, std::string_view day, const SigningScope& scope);

// The value of the header Authorization. `headers` are those to sign, "host" and "x-amz-date" among them, with names in
// lower case; they are sorted here.
std::string sigv4_authorization(std::string_view method, std::string_view target, std::vector<HttpHeader> headers,
                                std::string_view payload_sha256, std::string_view access_key_id,
                                const Sha256& key, std::string_view date, const SigningScope& scope);

// The text whose digest is signed; for tests.
std::string canonical_request(std::string_view method, std::string_view target, const std::vector<HttpHeader>& sorted,
                              std::string_view payload_sha256);

}  // namespace penstock
