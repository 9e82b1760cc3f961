#include "sample/fields/image_field.h"

#include <gtest/gtest.h>

#include "support/encode_images.h"
#include "support/field_run.h"
#include "support/layout_fields.h"
#include "support/listed_source.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

constexpr int kWidth = 6, kHeight = 4;

class ImageFieldTest : public testing::Test {
 protected:
  std::shared_ptr<ListedSource> source_of(const std::vector<Encoded>& files, FieldKind kind = FieldKind::kImage) const {
    auto source = std::make_shared<ListedSource>(std::vector<FieldInfo>{{"image", kind}}, store);
    for (std::size_t i = 0; i < files.size(); ++i) {
      store->put(std::to_string(i), files[i]);
      source->extents.push_back({extent_of_file(*store, std::to_string(i))});
    }
    return source;
  }
  static LoaderOptions rows_of_pixels(std::vector<Transform> steps = {}) {
    LoaderOptions options;
    options.layout = BatchLayout::kNhwc;
    if (!steps.empty()) options.transforms = {{"image", std::move(steps), ""}};
    return options;
  }
  static std::vector<std::uint8_t> pixels(const FieldRun& run, std::uint64_t index = 0) {
    std::vector<std::uint8_t> out;
    for (const std::byte pixel : run.slot(0, index)) out.push_back(std::to_integer<std::uint8_t>(pixel));
    return out;
  }

  const std::vector<LayoutField> whole{field("image", DType::kUInt8, {kHeight, kWidth, 3})};
  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
};

TEST_F(ImageFieldTest, the_pixels_of_a_file_reach_their_slot) {
  const Picture one = make_picture(kWidth, kHeight, 3, 1), two = make_picture(kWidth, kHeight, 3, 2);
  FieldRun run(source_of({encode_png(one), encode_png(two)}), whole, rows_of_pixels());
  ASSERT_TRUE(run.make(1, 0));
  ASSERT_TRUE(run.make(0, 1));
  EXPECT_EQ(pixels(run, 0), two.pixels);
  EXPECT_EQ(pixels(run, 1), one.pixels);
}

TEST_F(ImageFieldTest, planes_are_written_where_the_batch_has_channels_first) {
  const Picture picture = make_picture(kWidth, kHeight, 3, 1);
  FieldRun run(source_of({encode_png(picture)}), {field("image", DType::kUInt8, {3, kHeight, kWidth})});
  ASSERT_TRUE(run.make(0));
  const auto planes = pixels(run);
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x)
        ASSERT_EQ(planes[static_cast<std::size_t>((c * kHeight + y) * kWidth + x)], picture.at(x, y, c));
}

TEST_F(ImageFieldTest, steps_run_on_the_pixels) {
  const Picture picture = make_picture(kWidth, kHeight, 3, 1);
  FieldRun run(source_of({encode_png(picture)}), {field("image", DType::kUInt8, {2, 2, 3})},
               rows_of_pixels({CenterCrop{2, 2}, RandomHorizontalFlip{1.0}}));
  ASSERT_TRUE(run.make(0));
  std::vector<std::uint8_t> expected;
  for (const int y : {1, 2})
    for (const int x : {3, 2})
      for (int c = 0; c < 3; ++c) expected.push_back(picture.at(x, y, c));
  EXPECT_EQ(pixels(run), expected);
}

TEST_F(ImageFieldTest, random_steps_depend_on_epoch_and_position_and_on_nothing_before) {
  const Encoded encoded = encode_png(make_picture(40, 40, 3, 1));
  const auto source = source_of({encoded, encoded});
  const std::vector<LayoutField> crop{field("image", DType::kUInt8, {8, 8, 3})};
  FieldRun run(source, crop, rows_of_pixels({RandomCrop{8, 8}})), other(source, crop, rows_of_pixels({RandomCrop{8, 8}}));
  ASSERT_TRUE(run.make(0, 0, 5));
  ASSERT_TRUE(run.make(1, 1, 5));
  ASSERT_TRUE(other.make(1, 1, 5));
  EXPECT_EQ(pixels(run, 1), pixels(other, 1));
  EXPECT_NE(pixels(run, 0), pixels(run, 1));
  ASSERT_TRUE(other.make(1, 1, 6));
  EXPECT_NE(pixels(run, 1), pixels(other, 1));
}

TEST_F(ImageFieldTest, a_damaged_file_is_an_error_and_the_next_one_is_decoded) {
  const Picture picture = make_picture(kWidth, kHeight, 3, 1);
  Encoded damaged = encode_png(picture);
  damaged.resize(damaged.size() / 2);
  FieldRun run(source_of({damaged, encode_png(picture)}), whole, rows_of_pixels());
  EXPECT_FALSE(run.make(0));
  ASSERT_TRUE(run.make(1));
  EXPECT_EQ(pixels(run), picture.pixels);
}

TEST_F(ImageFieldTest, a_picture_of_another_size_than_the_batch_has_is_an_error) {
  FieldRun run(source_of({encode_png(make_picture(kWidth + 1, kHeight, 3, 1))}), whole, rows_of_pixels());
  const Status made = run.make(0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kShapeMismatch);
}

TEST_F(ImageFieldTest, a_mask_has_the_numbers_of_its_classes) {
  Picture classes{kWidth, kHeight, 1, {}};
  for (int i = 0; i < kWidth * kHeight; ++i) classes.pixels.push_back(static_cast<std::uint8_t>(i % 5));
  FieldRun run(source_of({encode_png(classes, {.palette = true})}, FieldKind::kMask),
               {field("image", DType::kUInt8, {kHeight, kWidth})});
  ASSERT_TRUE(run.make(0));
  EXPECT_EQ(pixels(run), classes.pixels) << "not the colours of the palette";
}

TEST_F(ImageFieldTest, measuring_counts_the_file_and_its_pixels) {
  const Encoded encoded = encode_png(make_picture(kWidth, kHeight, 3, 1));
  FieldRun run(source_of({encoded}), whole, rows_of_pixels());
  const auto cost = run.measure(0);
  ASSERT_TRUE(cost) << cost.error().describe();
  EXPECT_EQ(cost->encoded_bytes, static_cast<double>(encoded.size()));
  EXPECT_EQ(cost->decoded_bytes, kWidth * kHeight * 3);
}

}  // namespace
}  // namespace penstock
