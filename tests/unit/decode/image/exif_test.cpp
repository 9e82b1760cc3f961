#include "decode/image/exif.h"

#include <gtest/gtest.h>

#include "support/encode_images.h"

namespace penstock {
namespace {

// A directory with the orientation alone.
Encoded block(unsigned orientation, bool big_endian, unsigned type = 3, unsigned count = 1) {
  Encoded out;
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      out.push_back(static_cast<std::byte>(value >> 8 * (big_endian ? bytes - 1 - i : i)));
  };
  put(big_endian ? 0x4D4D : 0x4949, 2);
  put(42, 2);
  put(8, 4);
  put(1, 2);
  put(0x0112, 2);
  put(type, 2);
  put(count, 4);
  if (type == 4) {
    put(orientation, 4);
  } else {
    put(orientation, 2);
    put(0, 2);
  }
  put(0, 4);
  return out;
}

TEST(Exif, every_orientation_is_found_in_both_byte_orders) {
  for (const bool big_endian : {false, true})
    for (unsigned orientation = 1; orientation <= 8; ++orientation) {
      EXPECT_EQ(orientation_in_exif(block(orientation, big_endian)), static_cast<int>(orientation));
      EXPECT_EQ(orientation_in_exif(block(orientation, big_endian, 4)), static_cast<int>(orientation));
    }
}

TEST(Exif, the_word_that_jpeg_puts_in_front_may_be_there) {
  Encoded with_word;
  for (const char c : {'E', 'x', 'i', 'f', '\0', '\0'}) with_word.push_back(std::byte(c));
  const Encoded bare = block(6, true);
  with_word.insert(with_word.end(), bare.begin(), bare.end());
  EXPECT_EQ(orientation_in_exif(with_word), 6);
}

TEST(Exif, what_makes_no_sense_is_upright) {
  EXPECT_EQ(orientation_in_exif({}), 1);
  EXPECT_EQ(orientation_in_exif(block(0, false)), 1);
  EXPECT_EQ(orientation_in_exif(block(9, false)), 1);
  EXPECT_EQ(orientation_in_exif(block(6, false, 2)), 1);        // text
  EXPECT_EQ(orientation_in_exif(block(6, false, 3, 0)), 1);     // no values
  EXPECT_EQ(orientation_in_exif(block(6, false, 3, 9'999)), 1);  // values beyond the block
  const Encoded whole = block(6, false);
  for (std::size_t size = 0; size < 22; ++size)
    EXPECT_EQ(orientation_in_exif(ConstBytes(whole).first(size)), 1) << size;
}

}  // namespace
}  // namespace penstock
