// A program in two parts, of which the first may come from a cache: the same pixels, to the last bit.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/encode_images.h"
#include "support/run_program.h"

namespace penstock {
namespace {

const Normalize kNormalize{{0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}, std::nullopt};

std::vector<std::vector<Transform>> programs() {
  std::vector<std::vector<Transform>> all = {
      {},
      {kNormalize},
      {Resize{23, 0}},
      {Resize{50, 61}, CenterCrop{40, 40}, kNormalize},
      {Resize{23, 0}, RandomCrop{20, 21}, RandomHorizontalFlip{}, kNormalize},
      {Resize{19, 27, Interpolation::kBicubic}, RandomCrop{17, 16}},
      {Resize{19, 27, Interpolation::kNearest}, RandomVerticalFlip{}},
      {Resize{31, 29, Interpolation::kLanczos, false}, RandomResizedCrop{12, 11}},
      {Resize{30, 30}, Resize{15, 14}, RandomCrop{9, 9}},
      {CenterCrop{25, 27}, RandomResizedCrop{14, 12, 0.3, 0.9}, RandomHorizontalFlip{}},
      {RandomResizedCrop{14, 12}, RandomHorizontalFlip{}, kNormalize},
      {RandomResizedCrop{50, 44, 0.1, 0.5, 0.7, 1.4, Interpolation::kBicubic},
       ColorJitter{.brightness = {0.5, 1.5}}},
      {RandomCrop{20, 20}, Pad{1, 2, 3, 4, 7}, RandomRot90{}},
      {RandomHorizontalFlip{}, Resize{20, 20}},
      {ColorJitter{{0.5, 1.5}, {0.5, 1.5}, {0.5, 1.5}, {-0.2, 0.2}}, kNormalize},
      {Pad{1, 2, 3, 4, 7}, RandomCrop{20, 20}, Cast{DType::kFloat16}},
  };
  for (auto& steps : std::vector(all)) {
    steps.insert(steps.begin(), Decode{.mode = ColorMode::kGrey});
    if (std::ranges::none_of(steps, [](const Transform& step) {
          return std::holds_alternative<ColorJitter>(step) || std::holds_alternative<Normalize>(step);
        }))
      all.push_back(steps);
  }
  return all;
}

TEST(FixedPart, gives_the_same_pixels_as_the_whole) {
  const Picture photo = make_picture(40, 30, 3, 77);
  const Encoded encoded[] = {encode_png(photo), encode_jpeg(photo, {}),
                             encode_jpeg(photo, {.orientation = 6})};
  const auto all = programs();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Encoded& image : encoded)
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc})
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
          const auto whole = run_on_image(image, all[i], {.layout = layout, .seed = seed});
          const auto parts =
              run_on_image(image, all[i], {.layout = layout, .seed = seed, .in_two_parts = true});
          ASSERT_EQ(whole.has_value(), parts.has_value()) << i;
          if (!whole) continue;
          ASSERT_EQ(whole->spec, parts->spec) << i;
          ASSERT_EQ(whole->bytes, parts->bytes) << "program " << i << ", seed " << seed;
        }
}

TEST(FixedPart, of_a_mask_keeps_its_classes) {
  const Encoded mask = encode_png(make_picture(40, 30, 1, 5));
  const std::vector<Transform> steps = {Resize{21, 0}, RandomCrop{13, 12}, RandomHorizontalFlip{}};
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto whole = run_on_image(mask, steps, {.kind = FieldKind::kMask, .seed = seed});
    const auto parts =
        run_on_image(mask, steps, {.kind = FieldKind::kMask, .seed = seed, .in_two_parts = true});
    ASSERT_TRUE(whole && parts);
    EXPECT_EQ(whole->bytes, parts->bytes);
  }
}

TEST(FixedPart, fails_as_the_whole_does) {
  const Encoded small = encode_png(make_picture(10, 10, 3, 1));
  for (const bool in_two : {false, true}) {
    const auto made = run_on_image(small, {CenterCrop{20, 20}, RandomCrop{5, 5}}, {.in_two_parts = in_two});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kShapeMismatch);
    EXPECT_FALSE(run_on_image({}, {}, {.in_two_parts = in_two}));
  }
}

TEST(FixedPart, is_told_from_others_by_its_fingerprint) {
  const auto print = [](const std::vector<Transform>& steps, FieldKind kind = FieldKind::kImage) {
    return Program::compile(steps, {kind, Layout::kNchw, std::nullopt})->fixed_fingerprint();
  };
  const std::uint64_t plain = print({});
  EXPECT_EQ(plain, print({RandomCrop{5, 5}, kNormalize})) << "what comes later does not count";
  EXPECT_EQ(print({Resize{8, 8}}), print({Resize{8, 8}, RandomHorizontalFlip{}, Resize{4, 4}}));
  const std::uint64_t others[] = {plain,
                                  print({}, FieldKind::kMask),
                                  print({Decode{.mode = ColorMode::kGrey}}),
                                  print({Decode{.exif_orientation = true}}),
                                  print({Resize{8, 9}}),
                                  print({Resize{9, 8}}),
                                  print({Resize{8, 9, Interpolation::kBicubic}}),
                                  print({Resize{8, 9, Interpolation::kBilinear, false}}),
                                  print({CenterCrop{8, 9}}),
                                  print({Resize{8, 9}, CenterCrop{5, 5}}),
                                  print({CenterCrop{5, 5}, Resize{8, 9}})};
  for (const std::uint64_t& a : others)
    for (const std::uint64_t& b : others) EXPECT_EQ(a == b, &a == &b);
}

// Entries of a cache on disk are found by these numbers.
TEST(FixedPart, has_the_fingerprint_that_earlier_versions_gave_it) {
  const auto print = [](const std::vector<Transform>& steps, FieldKind kind) {
    return Program::compile(steps, {kind, Layout::kNchw, std::nullopt})->fixed_fingerprint();
  };
  EXPECT_EQ(print({}, FieldKind::kImage), 0x7970e130d0c7742f);
  EXPECT_EQ(print({Resize{8, 9, Interpolation::kBicubic}}, FieldKind::kImage), 0x652005cd886db585);
  EXPECT_EQ(print({Resize{8, 9}, CenterCrop{5, 6}}, FieldKind::kMask), 0xcf62868418c589d5);
}

TEST(FixedPart, says_how_much_would_be_decoded_without_it) {
  const auto share = [](const std::vector<Transform>& steps) {
    const auto program = Program::compile(steps, {});
    ImageDecoder decoder;
    const Encoded image = encode_png(make_picture(40, 30, 3, 1));
    return program->share_decoded(*program->plan_fixed_part(image, decoder), Draws(3, 0, 0));
  };
  EXPECT_DOUBLE_EQ(share({}), 1);
  EXPECT_DOUBLE_EQ(share({RandomCrop{15, 20}}), 0.25);
  EXPECT_DOUBLE_EQ(share({Resize{64, 64}, RandomCrop{15, 20}}), 1) << "the whole is resized";
  EXPECT_NEAR(share({RandomResizedCrop{8, 8, 0.5, 0.5, 1, 1}}), 0.5, 0.05);
}

}  // namespace
}  // namespace penstock
