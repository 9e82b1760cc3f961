#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/encode_images.h"
#include "support/run_program.h"

namespace penstock {
namespace {

constexpr int kWidth = 60, kHeight = 40;

// No pixel of it has the value that the tests erase with.
const Encoded& plain_png() {
  static const Encoded encoded =
      encode_png(Picture{kWidth, kHeight, 3, std::vector<std::uint8_t>(kWidth * kHeight * 3, 100)});
  return encoded;
}

struct Erased {
  int left = kWidth, top = kHeight, right = 0, bottom = 0, count = 0;
  int width() const { return right - left; }
  int height() const { return bottom - top; }
};

// The pixels that are not 100 any more.
Erased erased_of(const Tensor& image) {
  Erased erased;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      if (image.bytes[static_cast<std::size_t>((y * kWidth + x) * 3)] == std::byte{100}) continue;
      erased.left = std::min(erased.left, x);
      erased.top = std::min(erased.top, y);
      erased.right = std::max(erased.right, x + 1);
      erased.bottom = std::max(erased.bottom, y + 1);
      ++erased.count;
    }
  return erased;
}

TEST(RandomErasing, erases_a_rectangle_of_an_area_and_ratio_in_range) {
  const RandomErasing erasing{1, 0.05, 0.2, 0.5, 2, {7}};
  double smallest = 1, largest = 0, flattest = 10, tallest = 0;
  for (std::uint64_t position = 0; position < 200; ++position) {
    const auto image = run_on_image(plain_png(), {erasing}, {.seed = 3, .position = position});
    ASSERT_TRUE(image) << image.error().describe();
    const Erased erased = erased_of(*image);
    ASSERT_EQ(erased.count, erased.width() * erased.height()) << "one full rectangle";
    ASSERT_GT(erased.count, 0);
    const double area = static_cast<double>(erased.count) / (kWidth * kHeight);
    const double ratio = static_cast<double>(erased.height()) / erased.width();
    ASSERT_GT(area, 0.05 * 0.85);  // sides are rounded to whole pixels
    ASSERT_LT(area, 0.2 * 1.1);
    ASSERT_GT(ratio, 0.5 * 0.9);
    ASSERT_LT(ratio, 2 * 1.1);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    flattest = std::min(flattest, ratio);
    tallest = std::max(tallest, ratio);
  }
  EXPECT_LT(smallest, 0.07);
  EXPECT_GT(largest, 0.17);
  EXPECT_LT(flattest, 0.7);
  EXPECT_GT(tallest, 1.4);
}

TEST(RandomErasing, draws_by_seed_epoch_and_position_alone) {
  const std::vector<Transform> alone = {RandomErasing{1}}, behind = {ColorJitter{}, RandomErasing{1}};
  std::set<std::vector<std::byte>> results;
  for (std::uint64_t position = 0; position < 20; ++position) {
    const auto a = run_on_image(plain_png(), alone, {.seed = 1, .position = position});
    const auto b = run_on_image(plain_png(), behind, {.seed = 1, .position = position});
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->bytes, b->bytes);
    results.insert(a->bytes);
  }
  EXPECT_GT(results.size(), 15u);
}

TEST(RandomErasing, happens_with_its_probability) {
  int erased = 0;
  for (std::uint64_t position = 0; position < 400; ++position)
    erased += erased_of(*run_on_image(plain_png(), {RandomErasing{0.25}}, {.seed = 2, .position = position})).count > 0;
  EXPECT_NEAR(erased, 100, 40);
  EXPECT_EQ(erased_of(*run_on_image(plain_png(), {RandomErasing{0}})).count, 0);
}

TEST(RandomErasing, writes_one_value_per_channel_in_both_layouts) {
  const RandomErasing erasing{1, 0.2, 0.2, 1, 1, {1.9, 300, -5}};
  const auto nhwc = run_on_image(plain_png(), {erasing});
  ASSERT_TRUE(nhwc) << nhwc.error().describe();
  const Erased erased = erased_of(*nhwc);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const bool inside = x >= erased.left && x < erased.right && y >= erased.top && y < erased.bottom;
      const auto* pixel = nhwc->as<std::uint8_t>() + (y * kWidth + x) * 3;
      ASSERT_EQ(pixel[0], inside ? 1 : 100);
      ASSERT_EQ(pixel[1], inside ? 255 : 100) << "values are clamped to what pixels can be";
      ASSERT_EQ(pixel[2], inside ? 0 : 100);
    }
  const auto nchw = run_on_image(plain_png(), {erasing}, {.layout = Layout::kNchw});
  EXPECT_EQ(nchw->as<std::uint8_t>()[(kHeight + erased.top) * kWidth + erased.left], 255);
}

TEST(RandomErasing, behind_normalize_erases_normalized_values) {
  const auto image = run_on_image(
      plain_png(), {Normalize{{0.5}, {0.5}, std::nullopt}, RandomErasing{1, 0.2, 0.2, 1, 1, {-3.5}}}, {.seed = 4});
  ASSERT_TRUE(image);
  EXPECT_EQ(image->spec.dtype, DType::kFloat32);
  int erased = 0;
  for (int i = 0; i < kWidth * kHeight * 3; ++i) {
    const float value = image->as<float>()[i];
    erased += value == -3.5f;
    if (value != -3.5f) {
      ASSERT_NEAR(value, (100 / 255.0 - 0.5) / 0.5, 1e-5);
    }
  }
  EXPECT_NEAR(erased, 0.2 * kWidth * kHeight * 3, 150);
}

TEST(RandomErasing, sees_the_image_as_the_steps_before_it_left_it) {
  // Behind a crop, a flip and a border; the rectangle lies within the 20 x 22 pixels that are left.
  for (std::uint64_t position = 0; position < 40; ++position) {
    const auto image = run_on_image(plain_png(),
                                    {RandomCrop{18, 20}, RandomHorizontalFlip{}, Pad{1, 1, 1, 1, 100},
                                     RandomErasing{1, 0.1, 0.3, 0.5, 2, {7}}},
                                    {.seed = 9, .position = position});
    ASSERT_TRUE(image) << image.error().describe();
    EXPECT_EQ(image->spec.shape, (Shape{20, 22, 3}));
    const auto count = std::ranges::count(image->bytes, std::byte{7});
    EXPECT_GT(count, 20 * 22 * 3 * 0.07);
    EXPECT_LT(count, 20 * 22 * 3 * 0.35);
  }
}

TEST(RandomErasing, leaves_masks_alone_and_their_other_draws_too) {
  const Encoded mask = encode_png(make_picture(kWidth, kHeight, 1, 5));
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const RunOptions options{.kind = FieldKind::kMask, .seed = seed};
    const auto with = run_on_image(mask, {RandomErasing{1}, RandomCrop{20, 20}, RandomErasing{1}}, options);
    const auto without = run_on_image(mask, {RandomCrop{20, 20}}, options);
    ASSERT_TRUE(with && without);
    EXPECT_EQ(with->bytes, without->bytes);
  }
}

TEST(RandomErasing, works_on_arrays_that_are_images) {
  const std::vector<float> values(20 * 30, 5);
  const auto out = run_on_array({DType::kFloat32, {20, 30}}, values.data(), {RandomErasing{1, 0.3, 0.3, 1, 1, {-1}}});
  ASSERT_TRUE(out) << out.error().describe();
  EXPECT_NEAR(static_cast<double>(std::count(out->as<float>(), out->as<float>() + 600, -1.0f)), 180, 25);
  EXPECT_FALSE(run_on_array({DType::kFloat32, {600}}, values.data(), {RandomErasing{1}}));
}

TEST(RandomErasing, a_rectangle_that_never_fits_erases_nothing) {
  const auto image = run_on_image(plain_png(), {RandomErasing{1, 1, 1, 1, 1, {7}}});
  ASSERT_TRUE(image);
  EXPECT_EQ(erased_of(*image).count, 0);
}

TEST(RandomErasing, refuses_arguments_that_make_no_sense) {
  const RandomErasing bad[] = {{1.5},
                               {std::nan("")},
                               {0.5, -0.1, 0.3},
                               {0.5, 0.4, 0.3},
                               {0.5, 0.1, 1.1},
                               {0.5, 0.1, 0.3, 0, 1},
                               {0.5, 0.1, 0.3, 2, 1},
                               {0.5, 0.1, 0.3, 1, INFINITY},
                               {0.5, 0.1, 0.3, 1, 2, {}},
                               {0.5, 0.1, 0.3, 1, 2, {NAN}}};
  for (const RandomErasing& erasing : bad)
    for (const FieldKind kind : {FieldKind::kImage, FieldKind::kMask})
      EXPECT_FALSE(Program::compile({erasing}, {.kind = kind})) << &erasing - bad;
  const auto image = run_on_image(plain_png(), {RandomErasing{1, 0.1, 0.3, 1, 2, {1, 2}}});
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, ErrorCode::kShapeMismatch);
}

}  // namespace
}  // namespace penstock
