#include "store/s3/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <charconv>

namespace penstock {
namespace {

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

}  // namespace

Sha256 sha256(ConstBytes bytes) {
  Sha256 out{};
  EVP_Digest(bytes.data(), bytes.size(), raw(out.data()), nullptr, EVP_sha256(), nullptr);
  return out;
}

Sha256 hmac_sha256(ConstBytes key, std::string_view text) {
  Sha256 out{};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), raw(text_as_bytes(text).data()), text.size(),
       raw(out.data()), nullptr);
  return out;
}

std::optional<std::array<std::byte, 16>> md5(ConstBytes bytes) {
  std::array<std::byte, 16> out{};
  if (EVP_Digest(bytes.data(), bytes.size(), raw(out.data()), nullptr, EVP_md5(), nullptr) != 1) return std::nullopt;
  return out;
}

std::string hexadecimal(ConstBytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<std::string> from_hexadecimal(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned char byte = 0;
    const char* const end = digits.data() + i + 2;
    if (std::from_chars(digits.data() + i, end, byte, 16).ptr != end) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string base64(ConstBytes bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), raw(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace penstock
