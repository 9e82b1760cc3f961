// Against arrays that Pillow made (tests/golden/make_golden.py).
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/run_program.h"

namespace penstock {
namespace {

// The largest difference between two uint8 arrays of one shape.
testing::AssertionResult within(const Result<Tensor>& got, const Tensor& wanted, int levels) {
  if (!got) return testing::AssertionFailure() << got.error().describe();
  Shape shape = got->spec.shape;
  if (shape.size() == 3 && shape[2] == 1) shape.pop_back();
  if (shape != wanted.spec.shape)
    return testing::AssertionFailure() << "shapes differ: " << testing::PrintToString(shape) << " "
                                       << testing::PrintToString(wanted.spec.shape);
  int largest = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < wanted.bytes.size(); ++i) {
    const int difference =
        std::abs(std::to_integer<int>(got->bytes[i]) - std::to_integer<int>(wanted.bytes[i]));
    if (difference > largest) {
      largest = difference;
      where = i;
    }
  }
  if (largest > levels)
    return testing::AssertionFailure() << "differs by " << largest << " at element " << where;
  return testing::AssertionSuccess();
}

const std::pair<const char*, Interpolation> kFilters[] = {{"bilinear", Interpolation::kBilinear},
                                                          {"bicubic", Interpolation::kBicubic},
                                                          {"lanczos", Interpolation::kLanczos}};

TEST(Golden, resizing_is_within_a_level_of_pillow) {
  const auto photo = golden_bytes("photo.png"), grey = golden_bytes("photo_grey.png");
  for (const auto& [name, filter] : kFilters) {
    for (const auto& [width, height] : {std::pair{40, 30}, {7, 5}, {130, 90}, {97, 20}, {1, 1}}) {
      const std::string file =
          std::string("resize_") + name + "_" + std::to_string(width) + "x" + std::to_string(height) + ".npy";
      EXPECT_TRUE(within(run_on_image(photo, {Resize{height, width, filter}}), golden_array(file), 1))
          << file;
    }
    EXPECT_TRUE(within(run_on_image(grey, {Decode{.mode = ColorMode::kGrey}, Resize{21, 33, filter}}),
                       golden_array(std::string("resize_") + name + "_grey_33x21.npy"), 1))
        << name;
  }
}

TEST(Golden, resizing_after_a_crop_sees_only_the_crop) {
  // CenterCrop(40, 51) of 61 x 97 leaves rows from 10 and columns from 23; the golden box is made
  // with a Map, so that both sides cut the same.
  const auto photo = golden_bytes("photo.png");
  const auto cut = [](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
    const auto* from = static_cast<const std::uint8_t*>(data);
    auto out = std::make_shared<std::vector<std::uint8_t>>();
    for (std::int64_t y = 9; y < 49; ++y)
      out->insert(out->end(), from + (y * spec.shape[1] + 13) * 3, from + (y * spec.shape[1] + 64) * 3);
    return OwnedArray{{DType::kUInt8, {40, 51, 3}}, {out, out->data()}};
  };
  for (const auto& [name, filter] : kFilters)
    EXPECT_TRUE(within(run_on_image(photo, {Map::of_array(cut), Resize{24, 24, filter}}),
                       golden_array(std::string("resize_") + name + "_box_24x24.npy"), 1))
        << name;
}

TEST(Golden, grey_is_pillows_luma) {
  EXPECT_TRUE(within(run_on_image(golden_bytes("photo.png"), {Decode{.mode = ColorMode::kGrey}}),
                     golden_array("photo_as_grey.npy"), 0));
}

TEST(Golden, jpeg_pixels_are_pillows) {
  // Pillow brings its own libjpeg-turbo, whose last bit may differ.
  for (const char* name : {"progressive", "baseline", "grey"})
    EXPECT_TRUE(within(run_on_image(golden_bytes(std::string(name) + ".jpg"), {}),
                       golden_array(std::string(name) + "_jpg.npy"), 1))
        << name;
  EXPECT_TRUE(within(run_on_image(golden_bytes("cmyk.jpg"), {}), golden_array("cmyk_jpg.npy"), 2));
}

TEST(Golden, pictures_are_turned_upright_like_exif_transpose) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string name = "exif_" + std::to_string(orientation);
    EXPECT_TRUE(within(run_on_image(golden_bytes(name + ".jpg"), {Decode{.exif_orientation = true}}),
                       golden_array(name + "_jpg.npy"), 1))
        << name;
    const auto stored = run_on_image(golden_bytes(name + ".jpg"), {});
    EXPECT_EQ(stored->spec.shape, (Shape{16, 24, 3})) << "only when asked for";
  }
}

TEST(Golden, colour_jitter_is_pillows_arithmetic) {
  const auto photo = golden_bytes("jitter.png");
  for (const int percent : {0, 50, 170}) {
    const ColorJitter::Range range{percent / 100.0, percent / 100.0};
    const std::string ending = "_" + std::to_string(percent) + ".npy";
    EXPECT_TRUE(within(run_on_image(photo, {ColorJitter{.brightness = range}}),
                       golden_array("jitter_brightness" + ending), 1))
        << percent;
    EXPECT_TRUE(within(run_on_image(photo, {ColorJitter{.contrast = range}}),
                       golden_array("jitter_contrast" + ending), 1))
        << percent;
    EXPECT_TRUE(within(run_on_image(photo, {ColorJitter{.saturation = range}}),
                       golden_array("jitter_saturation" + ending), 1))
        << percent;
  }
  for (const int percent : {-30, 10, 50})
    EXPECT_TRUE(within(run_on_image(photo, {ColorJitter{.hue = {percent / 100.0, percent / 100.0}}}),
                       golden_array("jitter_hue_" + std::to_string(percent) + ".npy"), 1))
        << percent;
}

}  // namespace
}  // namespace penstock
