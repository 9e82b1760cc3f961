// A JPEG is accepted where libjpeg decodes all of it without a warning, and nowhere else.
#include <gtest/gtest.h>

#include <random>

#include "support/decode_region.h"
#include "support/run_program.h"

namespace penstock {
namespace {

// libjpeg alone, with its own Huffman decoder, from the first byte to the end marker.
bool library_accepts(const Encoded& encoded) { return decode_by_libjpeg(encoded, {.four_bytes_per_pixel = true}); }

std::vector<Encoded> pictures() {
  std::vector<Encoded> out;
  for (const char* name : {"baseline.jpg", "cmyk.jpg", "exif_3.jpg", "grey.jpg", "progressive.jpg"})
    out.push_back(golden_bytes(name));
  for (const JpegOptions& options :
       {JpegOptions{.restart_rows = 1}, JpegOptions{.horizontal = 1, .vertical = 1},
        JpegOptions{.arithmetic = true}, JpegOptions{.quality = 30}})
    out.push_back(encode_jpeg(make_picture(61, 43, 3, 8), options));
  return out;
}

Encoded damaged(const Encoded& whole, std::mt19937& random) {
  Encoded bytes = whole;
  const auto any = [&] { return random() % bytes.size(); };
  const auto late = [&] { return bytes.size() - 1 - random() % std::min<std::size_t>(bytes.size(), 12); };
  switch (random() % 8) {
    case 0: bytes[any()] ^= static_cast<std::byte>(1u << random() % 8); break;
    case 1: bytes[any()] = static_cast<std::byte>(random()); break;
    case 2: bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(any())); break;
    case 3: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(any()), static_cast<std::byte>(random())); break;
    case 4: bytes.resize(any()); break;
    case 5:
      for (std::size_t i = 1 + random() % 20; i > 0; --i)
        bytes.insert(bytes.end() - 2, static_cast<std::byte>(random() % 2 == 0 ? 0 : random()));
      break;
    case 6: bytes.insert(bytes.end(), 1 + random() % 9, static_cast<std::byte>(random())); break;
    default: bytes[late()] ^= static_cast<std::byte>(1u << random() % 8);
  }
  return bytes;
}

TEST(JpegVerdict, damaged_files_are_accepted_where_libjpeg_does_not_warn_and_nowhere_else) {
  std::mt19937 random(21);
  ImageDecoder decoder(Limits{.image_pixels = 1 << 20});
  int accepted = 0, refused = 0, stricter = 0;
  for (const Encoded& whole : pictures()) {
    ASSERT_TRUE(decode_all(decoder, whole));
    for (int round = 0; round < 250; ++round) {
      const Encoded bytes = damaged(whole, random);
      const auto header = decoder.open(bytes);
      if (!header && header.error().code == ErrorCode::kTooLarge) continue;
      const auto decoded = decode_all(decoder, bytes);
      const bool is_accepted = library_accepts(bytes);
      (decoded ? accepted : refused) += 1;
      if (decoded) {
        ASSERT_TRUE(is_accepted) << "round " << round << " of a file of " << whole.size() << " bytes";
      } else if (is_accepted) {
        // libjpeg does not see a run that leads out of its block; there is no such file without damage.
        EXPECT_NE(decoded.error().message.find("bad Huffman code"), std::string::npos) << decoded.error().message;
        ++stricter;
      }
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 500);
  EXPECT_LT(stricter, refused / 20);
}

TEST(JpegVerdict, bytes_after_the_end_marker_are_passed_over) {
  Encoded bytes = encode_jpeg(make_picture(40, 30, 3, 1));
  ImageDecoder decoder;
  const auto whole = decode_all(decoder, bytes);
  bytes.insert(bytes.end(), 1000, std::byte{0x55});
  const auto with_more = decode_all(decoder, bytes);
  ASSERT_TRUE(whole && with_more);
  EXPECT_EQ(whole->pixels, with_more->pixels);
}

TEST(JpegVerdict, data_between_the_last_block_and_the_end_marker_is_damage) {
  ImageDecoder decoder;
  for (const bool progressive : {false, true}) {
    Encoded bytes = encode_jpeg(make_picture(40, 30, 3, 1), {.progressive = progressive});
    bytes.insert(bytes.end() - 2, 100, std::byte{0x55});
    const auto decoded = decode_all(decoder, bytes);
    ASSERT_FALSE(decoded);
    EXPECT_NE(decoded.error().message.find("extraneous bytes"), std::string::npos) << decoded.error().message;
  }
}

}  // namespace
}  // namespace penstock
