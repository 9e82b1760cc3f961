#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock {
namespace {

const std::uint8_t kBytes[] = {1, 2, 3, 4, 5, 6, 7};

TEST(ByteReader, reads_little_endian_and_keeps_count) {
  ByteReader reader(as_bytes(kBytes, sizeof kBytes));
  EXPECT_EQ(reader.read<std::uint16_t>(), 0x0201);
  EXPECT_EQ(reader.read<std::uint32_t>(), 0x06050403u);
  EXPECT_EQ(reader.offset(), 6u);
  EXPECT_EQ(reader.left(), 1u);
  EXPECT_TRUE(reader.ok());
}

TEST(ByteReader, past_the_end_it_turns_bad_and_stays_bad) {
  ByteReader reader(as_bytes(kBytes, sizeof kBytes));
  EXPECT_EQ(reader.read<std::uint64_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.read<std::uint8_t>(), 0) << "though a byte is left";
  EXPECT_TRUE(reader.take_text(1).empty());
  EXPECT_EQ(reader.offset(), 0u);
}

TEST(ByteReader, a_length_near_the_largest_number_does_not_wrap) {
  ByteReader reader(as_bytes(kBytes, sizeof kBytes));
  reader.read<std::uint8_t>();
  EXPECT_TRUE(reader.take(std::numeric_limits<std::size_t>::max()).empty());
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, takes_everything_and_nothing) {
  ByteReader reader(as_bytes(kBytes, sizeof kBytes));
  EXPECT_TRUE(reader.take(0).empty());
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.take(7).size(), 7u);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 0u);
}

}  // namespace
}  // namespace penstock
