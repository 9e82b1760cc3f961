#include "decode/jpeg/jpeg_marker.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penstock {
namespace {

std::size_t position(const std::vector<std::uint8_t>& data, std::size_t from = 0) {
  return static_cast<std::size_t>(find_jpeg_marker(data.data() + from, data.data() + data.size()) - data.data());
}

std::size_t expected(const std::vector<std::uint8_t>& data, std::size_t from) {
  for (std::size_t at = from; at + 1 < data.size(); ++at)
    if (data[at] == 0xFF && data[at + 1] != 0 && data[at + 1] != 0xFF) return at;
  return data.size();
}

TEST(JpegMarker, is_found_at_every_place_of_data_with_stuffed_bytes_and_padding) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint8_t> data(random() % 700);
    // Mostly stuffed bytes and padding; markers are rare, so that they are met at every place of a block.
    const unsigned rare = 1 + random() % 300;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const bool follows_ff = i > 0 && data[i - 1] == 0xFF;
      if (random() % rare == 0)
        data[i] = static_cast<std::uint8_t>(0xD0 + random() % 8);
      else if (follows_ff)
        data[i] = random() % 3 == 0 ? 0xFF : 0;
      else
        data[i] = random() % 4 == 0 ? 0xFF : static_cast<std::uint8_t>(random());
    }
    for (std::size_t from = 0; from <= data.size(); from += 1 + random() % 40)
      ASSERT_EQ(position(data, from), expected(data, from)) << data.size() << " bytes from " << from;
  }
}

TEST(JpegMarker, cut_in_half_is_none) {
  EXPECT_EQ(position({}), 0u);
  EXPECT_EQ(position({0xFF}), 1u);
  EXPECT_EQ(position({0x12, 0xFF}), 2u);
  EXPECT_EQ(position({0xFF, 0xFF}), 2u);
  EXPECT_EQ(position({0xFF, 0xFF, 0xD9}), 1u);
}

}  // namespace
}  // namespace penstock
