#include "source/mds/shard_hash.h"

#include <gtest/gtest.h>

#include "support/text_bytes.h"

namespace penstock {
namespace {

std::string digest_of(std::string_view algorithm, const std::string& text) {
  const auto hash = make_shard_hash(algorithm);
  if (!hash) return "unknown";
  const auto bytes = bytes_of(text);
  hash->update(ConstBytes(bytes).first(bytes.size() / 2));
  hash->update(ConstBytes(bytes).subspan(bytes.size() / 2));
  return hash->digest();
}

// As Python's hashlib and xxhash compute them.
TEST(ShardHash, is_that_of_python_for_each_algorithm) {
  const std::vector<std::pair<std::string, std::string>> digests = {
      {"md5", "f7dfd4c83f04502e033393bed44f5229"},
      {"sha1", "a5944a806abb5e796945d07ed031916beb7e029e"},
      {"sha224", "2c3b871fbb44dee1544eda92aee8eab4c70719a9aac477e29be88e90"},
      {"sha256", "62cd8264f8cd774ea8a523138598edc88f8cfa646c8936fd86d42350a664ef71"},
      {"sha384", "7e51cb266d0e6fa7cab45bf7be7e94425e3197c0fef880eb773fdc19b595669269535905ca2bf5a160de12c290e203b4"},
      {"sha512", "735c39072ee33bd0a3649ea39e43d3bbb1a628877cc2f83e890b1e460d8ccb17a295c3f6b6421a13b9a5529e15804ad846d1a2cc5cbbfe5bbef239da460a6de2"},
      {"sha3_256", "d744c719afb727001f9984e7a315ac48abc9a4cb99fab94ee599fc5f3342f81b"},
      {"blake2b", "6e6d1674dc1dc54b02659ae441b2d342f3d3f190c7db778298a78853e7476b54e7d5885ea3e1080c283fefe6e1351e03f1bcc0ce10d9fa7cffbd250c2c6fafa4"},
      {"blake2s", "31299cc90ac271e72eda0afe76d200a4cdfa32e3f25bae04971e19440e9e0a45"},
      {"xxh32", "adf171c6"},
      {"xxh64", "d5d53a8889c55e5e"},
      {"xxh3_64", "7579169d90474907"},
      {"xxh3_128", "e379288453816141d65a09c44ea0b821"},
      {"xxh128", "e379288453816141d65a09c44ea0b821"}};
  for (const auto& [algorithm, digest] : digests) EXPECT_EQ(digest_of(algorithm, "penstock reads shards"), digest) << algorithm;
  EXPECT_EQ(digest_of("crc7", ""), "unknown");
}

TEST(ShardHash, the_fastest_known_hash_is_chosen) {
  EXPECT_EQ(fastest_known({{"crc7", "1"}, {"sha1", "2"}, {"xxh64", "3"}})->digest, "3");
  EXPECT_EQ(fastest_known({{"sha3_256", "1"}})->digest, "1");
  EXPECT_EQ(fastest_known({{"crc7", "1"}}), nullptr);
  EXPECT_EQ(fastest_known({}), nullptr);
}

}  // namespace
}  // namespace penstock
