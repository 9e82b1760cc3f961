// What every image codec must do, on the files of tests/golden/images: Pillow's pixels, whole and by region,
// and no harm from damage.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/random.h"
#include "decode/image/grey.h"
#include "decode/npy.h"
#include "support/decode_region.h"

namespace penstock {
namespace {

Encoded file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return {raw, raw + text.size()};
}

std::vector<std::string> file_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_GOLDEN_DIR "/images"))
    if (entry.path().extension() != ".npy") names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class ImageCodecs : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    encoded_ = file_bytes(std::filesystem::path(PENSTOCK_GOLDEN_DIR "/images") / GetParam());
    const auto header = decoder_.open(encoded_);
    if (!header && header.error().message.starts_with("this build cannot")) GTEST_SKIP() << header.error().message;
    ASSERT_TRUE(header) << header.error().describe();
    header_ = *header;
  }

  Rect random_region() {
    const auto part = [&](int size) { return 1 + static_cast<int>(draws_.below(static_cast<std::uint64_t>(size))); };
    const auto place = [&](int size, int used) {
      return static_cast<int>(draws_.below(static_cast<std::uint64_t>(size - used) + 1));
    };
    const int width = part(header_.width), height = part(header_.height);
    return {place(header_.width, width), place(header_.height, height), width, height};
  }

  ImageDecoder decoder_;
  Encoded encoded_;
  ImageHeader header_;
  Draws draws_{3, 1, 4};
};

TEST_P(ImageCodecs, give_the_pixels_that_pillow_gives) {
  std::string name = GetParam();
  std::ranges::replace(name, '.', '_');
  const Encoded reference = file_bytes(std::filesystem::path(PENSTOCK_GOLDEN_DIR "/images") / (name + ".npy"));
  const auto npy = parse_npy_header(reference, Limits{});
  ASSERT_TRUE(npy) << npy.error().describe();
  ASSERT_EQ(npy->array.shape, (Shape{header_.height, header_.width, 3}));
  const auto pixels = decode_all(decoder_, encoded_);
  ASSERT_TRUE(pixels) << pixels.error().describe();
  const auto* expected = reinterpret_cast<const std::uint8_t*>(reference.data() + reference.size()) -
                         header_.height * header_.width * 3;
  EXPECT_TRUE(std::ranges::equal(pixels->pixels, std::span(expected, pixels->pixels.size())));
}

TEST_P(ImageCodecs, give_a_region_as_a_part_of_the_whole) {
  const auto whole = decode_all(decoder_, encoded_);
  ASSERT_TRUE(whole) << whole.error().describe();
  for (int i = 0; i < 40; ++i) {
    const Rect region = random_region();
    const auto part = decode_region(decoder_, encoded_, region);
    ASSERT_TRUE(part) << part.error().describe();
    ASSERT_EQ(part->pixels, crop_of(*whole, region).pixels);
    const auto grey = decode_region(decoder_, encoded_, region, PixelFormat::kGrey);
    ASSERT_TRUE(grey);
    for (int y = 0; y < region.height; ++y)
      for (int x = 0; x < region.width; ++x)
        ASSERT_EQ(grey->at(x, y, 0), luma(part->at(x, y, 0), part->at(x, y, 1), part->at(x, y, 2)));
  }
}

// A cut file is an error; only what stands behind the pixels may be missing.
TEST_P(ImageCodecs, notice_a_file_that_was_cut) {
  const auto whole = decode_all(decoder_, encoded_);
  ASSERT_TRUE(whole) << whole.error().describe();
  for (std::size_t size = 0; size < encoded_.size(); ++size) {
    const auto cut = decode_all(decoder_, {encoded_.begin(), encoded_.begin() + static_cast<std::ptrdiff_t>(size)});
    if (cut) {
      ASSERT_EQ(cut->pixels, whole->pixels) << size << " of " << encoded_.size();
    }
    if (size < encoded_.size() * 9 / 10) {
      ASSERT_FALSE(cut) << size << " of " << encoded_.size();
    }
  }
}

TEST_P(ImageCodecs, survive_flipped_bits_and_stay_as_good_as_new) {
  const auto whole = decode_all(decoder_, encoded_);
  ASSERT_TRUE(whole) << whole.error().describe();
  for (std::size_t bit = 0; bit < encoded_.size() * 8; bit += 5) {
    Encoded bytes = encoded_;
    bytes[bit / 8] ^= std::byte(1u << bit % 8);
    ImageDecoder limited(Limits{.image_pixels = 1 << 20});
    (void)decode_all(limited, bytes);
    if (bit % 50 == 0) {
      (void)decode_all(decoder_, bytes);
      const auto again = decode_all(decoder_, encoded_);
      ASSERT_TRUE(again) << again.error().describe();
      ASSERT_EQ(again->pixels, whole->pixels);
    }
  }
}

TEST_P(ImageCodecs, refuse_more_pixels_than_the_limit) {
  ImageDecoder strict(Limits{.image_pixels = 100});
  const auto header = strict.open(encoded_);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, ErrorCode::kTooLarge);
}

INSTANTIATE_TEST_SUITE_P(Golden, ImageCodecs, testing::ValuesIn(file_names()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace penstock
