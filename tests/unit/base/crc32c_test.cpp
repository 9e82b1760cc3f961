#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

TEST(Crc32c, known_values) {
  EXPECT_EQ(crc32c(as_bytes("123456789", 9)), 0xE3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  const std::string zeros(32, '\0');
  EXPECT_EQ(crc32c(as_bytes(zeros.data(), 32)), 0x8A9136AAu);  // RFC 3720, B.4
}

TEST(Crc32c, chains_at_every_cut) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  const auto whole = crc32c(as_bytes(text.data(), text.size()));
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(as_bytes(text.data() + cut, text.size() - cut), crc32c(as_bytes(text.data(), cut))),
              whole);
}

TEST(Crc32c, notices_every_flipped_bit) {
  std::string text(100, 'x');
  const auto whole = crc32c(as_bytes(text.data(), text.size()));
  for (std::size_t bit = 0; bit < 800; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(crc32c(as_bytes(text.data(), text.size())), whole);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
  }
}

}  // namespace
}  // namespace penstock
