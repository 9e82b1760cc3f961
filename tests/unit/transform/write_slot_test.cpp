#include "transform/write_slot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"

namespace penstock {
namespace {

template <typename T>
View view_of(const std::vector<T>& values, DType dtype, Shape shape) {
  return view_of_array(reinterpret_cast<const std::byte*>(values.data()), {dtype, std::move(shape)});
}

template <typename To, typename From>
std::vector<To> convert(const std::vector<From>& values, DType from, DType to) {
  const Shape shape = {static_cast<std::int64_t>(values.size())};
  std::vector<To> out(values.size());
  copy_view(view_of(values, from, shape), reinterpret_cast<std::byte*>(out.data()), view_of(out, to, shape));
  return out;
}

TEST(CopyView, floats_that_do_not_fit_an_integer_type_are_clamped) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {-1, 0, 1.9f, 255, 256, 1e30f, -inf, inf, NAN};
  EXPECT_EQ((convert<std::uint8_t>(values, DType::kFloat32, DType::kUInt8)),
            (std::vector<std::uint8_t>{0, 0, 1, 255, 255, 255, 0, 255, 0}));
  EXPECT_EQ(
      (convert<std::int64_t>(std::vector<double>{1e300, -1e300, 5.5, -5.5}, DType::kFloat64, DType::kInt64)),
      (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::min(), 5, -5}));
}

TEST(CopyView, integers_that_do_not_fit_a_smaller_type_are_clamped) {
  EXPECT_EQ((convert<std::uint8_t>(std::vector<std::int64_t>{300, -5, 7, std::int64_t{1} << 40},
                                   DType::kInt64, DType::kUInt8)),
            (std::vector<std::uint8_t>{255, 0, 7, 255}));
  EXPECT_EQ((convert<std::int16_t>(std::vector<std::uint32_t>{70'000, 5}, DType::kUInt32, DType::kInt16)),
            (std::vector<std::int16_t>{32'767, 5}));
  EXPECT_EQ((convert<std::int64_t>(std::vector<std::uint64_t>{~std::uint64_t{0}, 5}, DType::kUInt64,
                                   DType::kInt64)),
            (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(), 5}));
}

TEST(CopyView, large_integers_keep_every_bit) {
  const std::int64_t large = (std::int64_t{1} << 62) + 1;
  EXPECT_EQ((convert<std::uint64_t>(std::vector<std::int64_t>{large}, DType::kInt64, DType::kUInt64)),
            (std::vector<std::uint64_t>{static_cast<std::uint64_t>(large)}));
  EXPECT_EQ((convert<double>(std::vector<std::int64_t>{1'234'567'890'123}, DType::kInt64, DType::kFloat64)),
            (std::vector<double>{1'234'567'890'123.0}));
}

TEST(CopyView, every_value_a_type_pair_shares_survives) {
  // 0 and 1 exist in every real type.
  const DType reals[] = {DType::kBool,     DType::kUInt8,   DType::kInt8,   DType::kUInt16, DType::kInt16,
                         DType::kUInt32,   DType::kInt32,   DType::kUInt64, DType::kInt64,  DType::kFloat16,
                         DType::kBFloat16, DType::kFloat32, DType::kFloat64};
  const std::vector<std::int64_t> values = {0, 1, 1, 0, 1};
  for (const DType a : reals)
    for (const DType b : reals) {
      ASSERT_TRUE(can_convert(a, b));
      const Shape shape = {5};
      std::vector<std::byte> first(5 * size_of(a)), second(5 * size_of(b));
      std::vector<std::int64_t> back(5);
      const View va = view_of_array(first.data(), {a, shape}), vb = view_of_array(second.data(), {b, shape});
      copy_view(view_of(values, DType::kInt64, shape), first.data(), va);
      copy_view(va, second.data(), vb);
      copy_view(vb, reinterpret_cast<std::byte*>(back.data()), view_of(back, DType::kInt64, shape));
      EXPECT_EQ(back, values) << name_of(a) << " to " << name_of(b);
    }
  EXPECT_FALSE(can_convert(DType::kComplex64, DType::kFloat32));
  EXPECT_FALSE(can_convert(DType::kFloat32, DType::kComplex64));
  EXPECT_TRUE(can_convert(DType::kComplex64, DType::kComplex64));
}

TEST(CopyView, all_half_floats_go_to_float_and_back) {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t h = 0; h < 0x10000; ++h)
    if ((h & 0x7FFF) <= 0x7C00) halves.push_back(static_cast<std::uint16_t>(h));
  const auto floats = convert<float>(halves, DType::kFloat16, DType::kFloat32);
  EXPECT_EQ(convert<std::uint16_t>(floats, DType::kFloat32, DType::kFloat16), halves);
  EXPECT_EQ(floats[0x3C00], 1.0f);
  EXPECT_EQ(floats[1], 0x1p-24f);
}

// All layouts, strides and types against one element at a time.
TEST(CopyView, is_the_same_whatever_way_it_takes) {
  Draws draws(5, 0, 0);
  const DType types[] = {DType::kUInt8,    DType::kFloat32, DType::kFloat16,
                         DType::kBFloat16, DType::kInt16,   DType::kFloat64};
  for (int round = 0; round < 3000; ++round) {
    const auto h = static_cast<std::int64_t>(1 + draws.below(6)),
               w = static_cast<std::int64_t>(1 + draws.below(21));
    const int c = 1 + static_cast<int>(draws.below(4)), items = c == 1 ? 1 : 4;
    const DType from_type = draws.chance(0.6) ? DType::kUInt8 : DType::kFloat32,
                to_type = types[draws.below(6)];
    std::vector<std::byte> source(static_cast<std::size_t>(h * w * items) * size_of(from_type));
    for (std::size_t i = 0; i < source.size() / size_of(from_type); ++i) {
      const float value = static_cast<float>(draws.below(256));
      if (from_type == DType::kUInt8)
        source[i] = std::byte(static_cast<std::uint8_t>(value));
      else
        std::memcpy(&source[i * 4], &value, 4);
    }
    View from = view_of_image(source.data(), from_type, h, w, c, items,
                              w * items * static_cast<std::int64_t>(size_of(from_type)));
    if (draws.chance(0.3)) from.flip(0);
    if (draws.chance(0.3)) from.flip(1);
    if (draws.chance(0.2)) {
      std::swap(from.shape[0], from.shape[1]);
      std::swap(from.stride[0], from.stride[1]);
    }
    const float scales[4] = {0.5f, 0.25f, 2.f, 1.f}, biases[4] = {1, -2, 3, 0};
    const bool scaled = draws.chance(0.5);
    if (scaled) from.affine = {scales, biases, draws.chance(0.5) ? 2 : -1};
    // To channels first or last.
    View to = draws.chance(0.5) ? view_of_array(nullptr, {to_type, {from.shape[0], from.shape[1], c}})
                                : view_of_array(nullptr, {to_type, {c, from.shape[0], from.shape[1]}});
    if (to.shape[0] == c && to.shape[1] == from.shape[0] && to.shape[2] == from.shape[1] &&
        to.stride[2] == static_cast<std::int64_t>(size_of(to_type)) &&
        !(to.shape[0] == from.shape[0] && to.shape[1] == from.shape[1] && to.shape[2] == c)) {
      to.stride = {to.stride[1], to.stride[2], to.stride[0]};
      to.shape = {from.shape[0], from.shape[1], c};
    }
    std::vector<std::byte> out(static_cast<std::size_t>(h * w * c) * size_of(to_type));
    copy_view(from, out.data(), to);
    for (std::int64_t y = 0; y < from.shape[0]; ++y)
      for (std::int64_t x = 0; x < from.shape[1]; ++x)
        for (std::int64_t k = 0; k < c; ++k) {
          const std::byte* at = from.data + y * from.stride[0] + x * from.stride[1] + k * from.stride[2];
          double value = 0;
          if (from_type == DType::kUInt8)
            value = std::to_integer<int>(*at);
          else {
            float f;
            std::memcpy(&f, at, 4);
            value = f;
          }
          if (scaled)
            value = value * scales[from.affine.axis < 0 ? 0 : k] + biases[from.affine.axis < 0 ? 0 : k];
          // One element to float64, through the slow way.
          const std::byte* got_at = out.data() + y * to.stride[0] + x * to.stride[1] + k * to.stride[2];
          double got = 0;
          copy_view(view_of_array(got_at, {to_type, {1}}), reinterpret_cast<std::byte*>(&got),
                    view_of_array(nullptr, {DType::kFloat64, {1}}));
          double tolerance = 1e-4;
          if (to_type == DType::kUInt8) value = std::min(255.0, std::max(0.0, value));
          if (to_type == DType::kUInt8 || to_type == DType::kInt16)
            tolerance = 0.999;  // numbers after the point are cut off
          if (to_type == DType::kFloat16) tolerance = std::abs(value) / 1024;
          if (to_type == DType::kBFloat16) tolerance = std::abs(value) / 128;
          ASSERT_NEAR(got, value, tolerance)
              << name_of(from_type) << " to " << name_of(to_type) << " round " << round;
        }
  }
}

TEST(CopyView, swapped_bytes_scalars_and_empty_arrays) {
  const std::vector<std::uint32_t> swapped = {0x01000000};
  View from = view_of(swapped, DType::kInt32, {});
  from.swap_bytes = true;
  std::vector<double> out(1);
  copy_view(from, reinterpret_cast<std::byte*>(out.data()), view_of(out, DType::kFloat64, {}));
  EXPECT_EQ(out[0], 1);
  copy_view(view_of(swapped, DType::kInt32, {0, 4}), nullptr, view_of(out, DType::kFloat64, {0, 4}));
}

TEST(CopyView, eight_axes_in_fortran_order) {
  const Shape shape = {2, 1, 3, 1, 2, 1, 2, 1};
  std::vector<std::int32_t> values(24);
  for (int i = 0; i < 24; ++i) values[static_cast<std::size_t>(i)] = i;
  const View from =
      view_of_array(reinterpret_cast<const std::byte*>(values.data()), {DType::kInt32, shape}, true);
  std::vector<float> out(24);
  copy_view(from, reinterpret_cast<std::byte*>(out.data()), view_of(out, DType::kFloat32, shape));
  // Element (a, 0, b, 0, c, 0, d, 0) stands at a + 2b + 6c + 12d.
  std::size_t i = 0;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 2; ++c)
        for (int d = 0; d < 2; ++d) EXPECT_EQ(out[i++], static_cast<float>(a + 2 * b + 6 * c + 12 * d));
}

}  // namespace
}  // namespace penstock
