// Signatures that AWS has published: the examples of the S3 documentation and the SigV4 test suite.
#include "store/s3/sigv4.h"

#include <gtest/gtest.h>

#include "support/own_sha256.h"

namespace penstock {
namespace {

std::string signature_of(const std::string& authorization) {
  return authorization.substr(authorization.find("Signature=") + 10);
}

std::string s3_example(std::string_view method, std::string_view target, std::vector<HttpHeader> headers,
                       std::string_view payload = kEmptySha256) {
  const Sha256 key = signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", {"us-east-1", "s3"});
  headers.push_back({"host", "examplebucket.s3.amazonaws.com"});
  headers.push_back({"x-amz-content-sha256", std::string(payload)});
  headers.push_back({"x-amz-date", "20130524T000000Z"});
  return signature_of(sigv4_authorization(method, target, headers, payload, "AKIAIOSFODNN7EXAMPLE", key,
                                          "20130524T000000Z", {"us-east-1", "s3"}));
}

TEST(SigV4, signs_the_examples_of_the_s3_documentation) {
  EXPECT_EQ(s3_example("GET", "/test.txt", {{"range", "bytes=0-9"}}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(s3_example("PUT", "/test%24file.text",
                       {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                       "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(s3_example("GET", "/?lifecycle", {}), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(s3_example("GET", "/?max-keys=2&prefix=J", {}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

std::string suite(std::string_view method, std::string_view target, std::vector<HttpHeader> headers = {}) {
  const Sha256 key = signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830", {"us-east-1", "service"});
  headers.push_back({"host", "example.amazonaws.com"});
  headers.push_back({"x-amz-date", "20150830T123600Z"});
  return signature_of(sigv4_authorization(method, target, headers, kEmptySha256, "AKIDEXAMPLE", key,
                                          "20150830T123600Z", {"us-east-1", "service"}));
}

TEST(SigV4, signs_the_test_suite) {
  EXPECT_EQ(suite("GET", "/"), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31") << "get-vanilla";
  EXPECT_EQ(suite("GET", "/?Param2=value2&Param1=value1"),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500") << "get-vanilla-query-order-key-case";
  EXPECT_EQ(suite("GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
            "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f") << "get-unreserved";
  EXPECT_EQ(suite("GET", "/?%E1%88%B4=bar"), "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04")
      << "get-vanilla-utf8-query";
  EXPECT_EQ(suite("POST", "/"), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b") << "post-vanilla";
  EXPECT_EQ(suite("GET", "/", {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}}),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736") << "get-header-value-trim";
}

TEST(SigV4, dates_are_those_of_greenwich) {
  EXPECT_EQ(amz_date(std::chrono::system_clock::from_time_t(1'369'353'600)), "20130524T000000Z");
  EXPECT_EQ(amz_date(std::chrono::system_clock::from_time_t(1'700'000'000)), "20231114T221320Z");
}

TEST(Digest, equals_a_second_implementation) {
  for (const std::size_t size : {0u, 1u, 55u, 56u, 63u, 64u, 65u, 1000u}) {
    const std::string text(size, static_cast<char>('a' + size % 26)), key(size, 'k');
    EXPECT_EQ(hexadecimal(sha256(text_as_bytes(text))), own_hex(own_sha256(text))) << size;
    EXPECT_EQ(hexadecimal(hmac_sha256(text_as_bytes(key), text)), own_hex(own_hmac(key, text))) << size;
  }
  EXPECT_EQ(hexadecimal(sha256({})), kEmptySha256);
  EXPECT_EQ(hexadecimal(*md5(text_as_bytes("abc"))), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(base64(text_as_bytes("any carnal pleas")), "YW55IGNhcm5hbCBwbGVhcw==");
  EXPECT_EQ(from_hexadecimal("0aFF"), std::string("\x0a\xff"));
  EXPECT_EQ(from_hexadecimal("0g"), std::nullopt);
  EXPECT_EQ(from_hexadecimal("0"), std::nullopt);
}

}  // namespace
}  // namespace penstock
