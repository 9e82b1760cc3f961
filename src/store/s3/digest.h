// The digests of S3: SHA-256, HMAC-SHA-256 and MD5, by OpenSSL's libcrypto, which libcurl loads anyway
// (docs/decisions/0034). Pure functions; thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace penstock {

using Sha256 = std::array<std::byte, 32>;

Sha256 sha256(ConstBytes bytes);
Sha256 hmac_sha256(ConstBytes key, std::string_view text);
// Empty where the system forbids MD5 (FIPS).
std::optional<std::array<std::byte, 16>> md5(ConstBytes bytes);

// In lower case.
std::string hexadecimal(ConstBytes bytes);
std::optional<std::string> from_hexadecimal(std::string_view digits);
std::string base64(ConstBytes bytes);

inline ConstBytes text_as_bytes(std::string_view text) { return as_bytes(text.data(), text.size()); }

}  // namespace penstock
