#include "transform/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/encode_images.h"
#include "support/run_program.h"

namespace penstock {
namespace {

const Picture& photo() {
  static const Picture picture = make_picture(40, 30, 3, 77);
  return picture;
}
const Encoded& photo_png() {
  static const Encoded encoded = encode_png(photo());
  return encoded;
}

std::uint8_t at(const Tensor& tensor, std::int64_t y, std::int64_t x, std::int64_t c) {
  return std::to_integer<std::uint8_t>(
      tensor.bytes[static_cast<std::size_t>((y * tensor.spec.shape[1] + x) * tensor.spec.shape[2] + c)]);
}

TEST(Program, without_transforms_gives_the_pixels_in_both_layouts) {
  const auto nhwc = run_on_image(photo_png(), {});
  ASSERT_TRUE(nhwc);
  EXPECT_EQ(nhwc->spec, (ArraySpec{DType::kUInt8, {30, 40, 3}}));
  const auto nchw = run_on_image(photo_png(), {}, {.layout = Layout::kNchw});
  EXPECT_EQ(nchw->spec, (ArraySpec{DType::kUInt8, {3, 30, 40}}));
  for (int c = 0; c < 3; ++c) {
    EXPECT_EQ(at(*nhwc, 11, 7, c), photo().at(7, 11, c));
    EXPECT_EQ(std::to_integer<int>(nchw->bytes[static_cast<std::size_t>((c * 30 + 11) * 40 + 7)]),
              photo().at(7, 11, c));
  }
}

TEST(Program, crops_flips_and_turns_move_the_right_pixels) {
  const auto crop =
      run_on_image(photo_png(), {CenterCrop{11, 13}});  // halves round to even: 9.5 -> 10, 13.5 -> 14
  EXPECT_EQ(at(*crop, 0, 0, 1), photo().at(14, 10, 1));
  EXPECT_EQ(at(*crop, 10, 12, 2), photo().at(26, 20, 2));
  const auto mirrored = run_on_image(photo_png(), {RandomHorizontalFlip{1}});
  EXPECT_EQ(at(*mirrored, 5, 0, 0), photo().at(39, 5, 0));
  const auto upside = run_on_image(photo_png(), {RandomVerticalFlip{1}});
  EXPECT_EQ(at(*upside, 0, 3, 0), photo().at(3, 29, 0));
  const auto still = run_on_image(photo_png(), {RandomHorizontalFlip{0}, RandomVerticalFlip{0}});
  EXPECT_EQ(still->bytes, run_on_image(photo_png(), {})->bytes);
}

TEST(Program, flips_and_crops_in_any_order_see_what_is_shown) {
  // Crop after a flip cuts the flipped picture.
  const auto a = run_on_image(photo_png(), {RandomHorizontalFlip{1}, CenterCrop{10, 13}});
  const auto b =
      run_on_image(photo_png(), {RandomVerticalFlip{1}, CenterCrop{11, 14}, RandomHorizontalFlip{1}});
  EXPECT_EQ(at(*a, 0, 0, 0), photo().at(39 - 14, 10, 0));
  EXPECT_EQ(at(*b, 0, 0, 0), photo().at(13 + 13, 29 - 10, 0));
}

// The planned way (only the needed pixels, one pass) against the plain one: a Map that does
// nothing makes the pixels first.
TEST(Program, planned_geometry_equals_doing_every_step_on_pixels) {
  const Map stop = Map::of_array([](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
    auto copy = std::make_shared<std::vector<std::byte>>(static_cast<const std::byte*>(data),
                                                         static_cast<const std::byte*>(data) + spec.bytes());
    return OwnedArray{spec, {copy, copy->data()}};
  });
  const Encoded jpeg = encode_jpeg(photo(), {.orientation = 6});
  const std::vector<Transform> pools[] = {
      {RandomHorizontalFlip{1}, CenterCrop{20, 23}, RandomVerticalFlip{1}},
      {CenterCrop{25, 28}, RandomHorizontalFlip{1}, RandomCrop{9, 10}},
      {RandomVerticalFlip{1}, Resize{17, 19}, RandomHorizontalFlip{0.5}},
      {Resize{17, 0}, CenterCrop{15, 15}, RandomHorizontalFlip{1}},
      {RandomResizedCrop{14, 12}, RandomVerticalFlip{1}, CenterCrop{9, 7}},
      {RandomHorizontalFlip{1}, RandomResizedCrop{14, 12, 0.5, 0.9}, RandomHorizontalFlip{1}},
      {Resize{20, 20}, Resize{9, 9}, CenterCrop{5, 5}},
      {RandomRot90{}, CenterCrop{20, 20}, Resize{11, 11}},
      {Pad{3, 2, 1, 0, 9}, RandomCrop{29, 28}, Resize{11, 11, Interpolation::kBicubic}},
  };
  for (const auto& steps : pools)
    for (const Encoded* encoded : {&photo_png(), &jpeg})
      for (const bool upright : {false, true})
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
          std::vector<Transform> planned = {Decode{.exif_orientation = upright}}, plain = planned;
          for (const Transform& step : steps) {
            planned.push_back(step);
            plain.push_back(stop);
            plain.push_back(step);
          }
          plain.push_back(stop);
          const auto a = run_on_image(*encoded, planned, {.seed = seed}),
                     b = run_on_image(*encoded, plain, {.seed = seed});
          ASSERT_TRUE(a) << a.error().describe();
          ASSERT_TRUE(b) << b.error().describe();
          ASSERT_EQ(a->spec.shape, b->spec.shape);
          ASSERT_EQ(a->bytes, b->bytes) << "steps " << &steps - pools << " seed " << seed << " upright " << upright;
        }
}

TEST(Program, normalize_is_the_formula_in_every_layout_and_type) {
  const Normalize normalize{{0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}, std::nullopt};
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    const auto out = run_on_image(photo_png(), {RandomHorizontalFlip{1}, normalize}, {.layout = layout});
    ASSERT_TRUE(out);
    EXPECT_EQ(out->spec.dtype, DType::kFloat32);
    for (int c = 0; c < 3; ++c) {
      const std::size_t i = layout == Layout::kNchw ? static_cast<std::size_t>((c * 30 + 4) * 40 + 9)
                                                    : static_cast<std::size_t>((4 * 40 + 9) * 3 + c);
      const double wanted = (photo().at(30, 4, c) / 255.0 - normalize.mean[static_cast<std::size_t>(c)]) /
                            normalize.std[static_cast<std::size_t>(c)];
      EXPECT_NEAR(out->as<float>()[i], wanted, 1e-5);
    }
  }
  const auto half = run_on_image(photo_png(), {normalize, Cast{DType::kFloat16}});
  EXPECT_EQ(half->spec.dtype, DType::kFloat16);
  const auto twice = run_on_image(photo_png(), {normalize, Normalize{{1}, {2}, std::nullopt}});
  EXPECT_NEAR(twice->as<float>()[0], ((photo().at(0, 0, 0) / 255.0 - 0.5) / 0.2 - 1) / 2, 1e-5);
}

TEST(Program, normalize_needs_an_axis_of_its_length) {
  EXPECT_FALSE(run_on_image(photo_png(), {Normalize{{0, 0}, {1, 1}, std::nullopt}}));
  const float values[12] = {};
  EXPECT_TRUE(
      run_on_array({DType::kFloat32, {3, 4}}, values, {Normalize{{0, 0, 0}, {1, 1, 1}, std::nullopt}}));
  EXPECT_TRUE(
      run_on_array({DType::kFloat32, {3, 4}}, values, {Normalize{{0, 0, 0, 0}, {1, 1, 1, 1}, std::nullopt}}));
  EXPECT_FALSE(run_on_array({DType::kFloat32, {3, 4}}, values, {Normalize{{0, 0}, {1, 1}, std::nullopt}}));
}

TEST(Program, arrays_are_normalised_along_first_or_last_axis) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const auto first =
      run_on_array({DType::kFloat32, {2, 3}}, values.data(), {Normalize{{1, 2}, {1, 2}, std::nullopt}});
  EXPECT_EQ(first->as<float>()[2], 2);
  EXPECT_EQ(first->as<float>()[5], 2);
  const auto last =
      run_on_array({DType::kFloat32, {2, 3}}, values.data(), {Normalize{{1, 2, 3}, {1, 1, 2}, std::nullopt}});
  EXPECT_EQ(last->as<float>()[5], 1.5f);
}

TEST(Program, draws_are_shared_by_kind_and_occurrence_not_by_place) {
  const Encoded mask = encode_png(Picture{40, 30, 1, std::vector<std::uint8_t>(1200, 3)});
  // A ColorJitter in between must not move the crop.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto a = run_on_image(photo_png(), {RandomCrop{8, 8}}, {.seed = seed});
    const auto b =
        run_on_image(photo_png(), {ColorJitter{}, RandomHorizontalFlip{0}, RandomCrop{8, 8}}, {.seed = seed});
    ASSERT_EQ(a->bytes, b->bytes);
  }
  const auto whole = run_on_image(mask, {RandomResizedCrop{8, 8}}, {.kind = FieldKind::kMask});
  ASSERT_TRUE(whole) << whole.error().describe();
  EXPECT_EQ(whole->spec, (ArraySpec{DType::kUInt8, {8, 8}}));
}

TEST(Program, masks_and_images_get_the_same_geometry) {
  // The picture's first channel as a mask: with nearest interpolation on both, they must agree.
  Picture channel{40, 30, 1, {}};
  for (int y = 0; y < 30; ++y)
    for (int x = 0; x < 40; ++x) channel.pixels.push_back(photo().at(x, y, 0));
  const Encoded mask = encode_png(channel);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const std::vector<Transform> steps = {
        RandomResizedCrop{14, 12, 0.2, 1, 0.7, 1.4, Interpolation::kNearest}, RandomHorizontalFlip{},
        RandomRot90{}};
    const auto a = run_on_image(photo_png(), steps, {.seed = seed}),
               b = run_on_image(mask, steps, {.kind = FieldKind::kMask, .seed = seed});
    ASSERT_TRUE(a && b);
    for (std::int64_t i = 0; i < 14 * 12; ++i)
      ASSERT_EQ(a->bytes[static_cast<std::size_t>(i * 3)], b->bytes[static_cast<std::size_t>(i)]) << seed;
  }
}

TEST(Program, masks_never_get_values_in_between) {
  Picture picture{40, 30, 1, {}};
  for (int i = 0; i < 1200; ++i) picture.pixels.push_back(i % 7 < 3 ? 2 : 250);
  const auto out = run_on_image(encode_png(picture), {Resize{13, 17, Interpolation::kBicubic}},
                                {.kind = FieldKind::kMask});
  ASSERT_TRUE(out);
  for (const std::byte value : out->bytes) EXPECT_TRUE(value == std::byte{2} || value == std::byte{250});
}

TEST(Program, fast_decode_is_near_the_exact_result) {
  Picture smooth{640, 480, 3, {}};
  for (int y = 0; y < 480; ++y)
    for (int x = 0; x < 640; ++x)
      for (int c = 0; c < 3; ++c)
        smooth.pixels.push_back(
            static_cast<std::uint8_t>(128 + 100 * std::sin(x / 60.0 + c) * std::cos(y / 45.0)));
  const Encoded jpeg = encode_jpeg(smooth);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<Transform> steps = {Decode{}, RandomResizedCrop{32, 32, 0.5, 1},
                                          RandomHorizontalFlip{}};
    std::vector<Transform> fast = steps;
    fast[0] = Decode{.fast_decode = true};
    const auto a = run_on_image(jpeg, steps, {.seed = seed}), b = run_on_image(jpeg, fast, {.seed = seed});
    ASSERT_TRUE(a && b);
    for (std::size_t i = 0; i < a->bytes.size(); ++i)
      ASSERT_NEAR(std::to_integer<int>(a->bytes[i]), std::to_integer<int>(b->bytes[i]), 4) << seed;
  }
}

TEST(Program, random_turns_are_numpys_rot90_and_all_four_happen) {
  const std::vector<std::int32_t> values = {0, 1, 2, 3, 4, 5};  // 2 x 3
  const std::vector<std::int32_t> turned[4] = {
      {0, 1, 2, 3, 4, 5}, {2, 5, 1, 4, 0, 3}, {5, 4, 3, 2, 1, 0}, {3, 0, 4, 1, 5, 2}};
  std::set<int> seen;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto out = run_on_array({DType::kInt32, {2, 3}}, values.data(), {RandomRot90{}}, {.seed = seed});
    const std::vector<std::int32_t> got(out->as<std::int32_t>(), out->as<std::int32_t>() + 6);
    const auto found = std::ranges::find(turned, got) - turned;
    ASSERT_LT(found, 4);
    EXPECT_EQ(out->spec.shape, found % 2 ? (Shape{3, 2}) : (Shape{2, 3}));
    seen.insert(static_cast<int>(found));
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Program, flips_of_volumes_need_three_axes) {
  std::vector<float> values(24);
  for (std::size_t i = 0; i < 24; ++i) values[i] = static_cast<float>(i);
  const auto out = run_on_array({DType::kFloat32, {2, 3, 4}}, values.data(), {RandomFlip3D{1}});
  EXPECT_EQ(out->as<float>()[0], 23);
  EXPECT_FALSE(run_on_array({DType::kFloat32, {6, 4}}, values.data(), {RandomFlip3D{1}}));
}

TEST(Program, one_hot_and_its_limits) {
  const std::int64_t label = 2, beyond = 4, negative = -1;
  const auto out = run_on_array({DType::kInt64, {}}, &label, {OneHot{4}});
  ASSERT_TRUE(out);
  EXPECT_EQ(std::vector<float>(out->as<float>(), out->as<float>() + 4), (std::vector<float>{0, 0, 1, 0}));
  EXPECT_FALSE(run_on_array({DType::kInt64, {}}, &beyond, {OneHot{4}}));
  EXPECT_FALSE(run_on_array({DType::kInt64, {}}, &negative, {OneHot{4}}));
}

TEST(Program, padding_surrounds_with_the_fill) {
  const auto out = run_on_image(photo_png(), {Pad{1, 2, 3, 4, 77}});
  EXPECT_EQ(out->spec.shape, (Shape{36, 44, 3}));
  EXPECT_EQ(at(*out, 0, 0, 0), 77);
  EXPECT_EQ(at(*out, 35, 43, 2), 77);
  EXPECT_EQ(at(*out, 2, 1, 1), photo().at(0, 0, 1));
  EXPECT_EQ(at(*out, 31, 40, 1), photo().at(39, 29, 1));
}

TEST(Program, casts_in_the_middle_and_at_the_end) {
  const auto out = run_on_image(photo_png(), {Cast{DType::kFloat32}, CenterCrop{4, 4}, Cast{DType::kInt16}});
  ASSERT_TRUE(out) << out.error().describe();
  EXPECT_EQ(out->spec, (ArraySpec{DType::kInt16, {4, 4, 3}}));
  EXPECT_EQ(out->as<std::int16_t>()[0], photo().at(18, 13, 0));
}

TEST(Program, crops_larger_than_the_image_are_an_error) {
  EXPECT_EQ(run_on_image(photo_png(), {CenterCrop{31, 10}}).error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(run_on_image(photo_png(), {RandomCrop{10, 41}}).error().code, ErrorCode::kShapeMismatch);
}

TEST(Program, transforms_that_make_no_sense_do_not_compile) {
  const std::vector<Transform> bad[] = {{CenterCrop{0, 5}},
                                        {RandomCrop{5, -1}},
                                        {Resize{0, 5}},
                                        {Resize{5, -2}},
                                        {RandomResizedCrop{5, 5, 0, 1}},
                                        {RandomResizedCrop{5, 5, 0.9, 0.5}},
                                        {RandomResizedCrop{5, 5, 0.1, 1, 0, 1}},
                                        {RandomHorizontalFlip{1.5}},
                                        {RandomVerticalFlip{-0.1}},
                                        {RandomFlip3D{std::nan("")}},
                                        {ColorJitter{.brightness = {-1, 1}}},
                                        {ColorJitter{.hue = {-0.6, 0}}},
                                        {Normalize{{}, {}, {}}},
                                        {Normalize{{1}, {0}, {}}},
                                        {Normalize{{1, 2}, {1}, {}}},
                                        {Pad{-1, 0, 0, 0, 0}},
                                        {OneHot{0}},
                                        {Map{}},
                                        {CenterCrop{4, 4}, Decode{}}};
  for (const auto& steps : bad) EXPECT_FALSE(Program::compile(steps, {})) << &steps - bad;
}

TEST(Program, resize_by_the_shorter_side_keeps_the_ratio) {
  EXPECT_EQ(run_on_image(photo_png(), {Resize{15, 0}})->spec.shape, (Shape{15, 20, 3}));
  EXPECT_EQ(run_on_image(encode_png(make_picture(10, 33, 3, 1)), {Resize{7, 0}})->spec.shape,
            (Shape{23, 7, 3}));
}

TEST(Program, says_the_batch_shape_before_reading_where_it_can) {
  const auto spec = [](std::vector<Transform> steps, ProgramOptions options = {}) {
    return Program::compile(steps, options)->fixed_spec();
  };
  EXPECT_EQ(spec({Resize{20, 30}, CenterCrop{8, 9}}), (ArraySpec{DType::kUInt8, {3, 8, 9}}));
  EXPECT_EQ(spec({RandomResizedCrop{8, 9}, Normalize{{0}, {1}, {}}}),
            (ArraySpec{DType::kFloat32, {3, 8, 9}}));
  EXPECT_EQ(spec({Decode{.mode = ColorMode::kGrey}, CenterCrop{8, 9}, Cast{DType::kFloat16}},
                 {.layout = Layout::kNhwc}),
            (ArraySpec{DType::kFloat16, {8, 9, 1}}));
  EXPECT_FALSE(spec({Resize{20, 0}}));
  EXPECT_FALSE(spec({CenterCrop{8, 9}, RandomRot90{}}));
  EXPECT_FALSE(spec({}));
}

// Whatever fixed_spec() promises must be what a sample is.
TEST(Program, promised_shapes_and_types_are_kept) {
  const std::vector<Transform> programs[] = {{Resize{9, 8}},
                                             {CenterCrop{9, 8}, Pad{1, 1, 2, 2, 0}},
                                             {Resize{9, 8}, Normalize{{0, 0, 0}, {1, 1, 1}, {}}},
                                             {CenterCrop{9, 9}, RandomRot90{}},
                                             {Decode{.mode = ColorMode::kGrey}, Resize{9, 8}},
                                             {RandomResizedCrop{9, 8}, ColorJitter{.brightness = {0.5, 1.5}}},
                                             {Resize{9, 8}, Cast{DType::kBFloat16}}};
  for (const auto& steps : programs)
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      const auto promised = Program::compile(steps, {.layout = layout})->fixed_spec();
      ASSERT_TRUE(promised) << &steps - programs;
      const auto out = run_on_image(photo_png(), steps, {.layout = layout});
      ASSERT_TRUE(out) << out.error().describe();
      EXPECT_EQ(out->spec, *promised) << &steps - programs;
    }
}

}  // namespace
}  // namespace penstock
