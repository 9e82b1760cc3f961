#include "transform/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"

namespace penstock {
namespace {

struct Sets {
  const Kernels* all[3] = {};
  std::size_t count = runnable_kernels(all);
};

template <typename T>
testing::AssertionResult same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0)
      return testing::AssertionFailure()
             << "element " << i << " of " << a.size() << ": " << +a[i] << " and " << +b[i];
  return testing::AssertionSuccess();
}

// Runs `work` (set, output) for each instruction set and compares all with the plainest.
template <typename T, typename Work>
void compare(std::size_t outputs, Work work) {
  const Sets sets;
  std::vector<T> reference(outputs, T{99});
  work(*sets.all[0], reference.data());
  for (std::size_t s = 1; s < sets.count; ++s) {
    std::vector<T> out(outputs, T{99});
    work(*sets.all[s], out.data());
    ASSERT_TRUE(same_bits(reference, out)) << sets.all[s]->name;
  }
}

std::vector<float> random_floats(Draws& draws, std::size_t count, double low = -300, double high = 300) {
  std::vector<float> out(count);
  for (float& v : out) v = static_cast<float>(draws.uniform(low, high));
  return out;
}

std::vector<std::uint8_t> random_bytes(Draws& draws, std::size_t count) {
  std::vector<std::uint8_t> out(count);
  for (auto& v : out) v = static_cast<std::uint8_t>(draws.next_u32());
  return out;
}

TEST(Kernels, there_is_always_a_plain_set_and_the_best_is_the_last) {
  const Sets sets;
  ASSERT_GE(sets.count, 1u);
  EXPECT_STREQ(sets.all[0]->name, "baseline");
  EXPECT_STREQ(kernels().name, sets.all[sets.count - 1]->name);
}

TEST(Kernels, blended_rows_have_the_same_bits_in_every_set) {
  Draws draws(1, 0, 0);
  for (int i = 0; i < 300; ++i) {
    const std::size_t count = 1 + draws.below(200);
    const int taps = 1 + static_cast<int>(draws.below(13));
    const auto weights = random_floats(draws, static_cast<std::size_t>(taps), -1, 1);
    const auto bytes = random_bytes(draws, count * static_cast<std::size_t>(taps));
    const auto floats = random_floats(draws, count * static_cast<std::size_t>(taps));
    std::vector<const std::uint8_t*> byte_rows;
    std::vector<const float*> float_rows;
    for (int t = 0; t < taps; ++t) {
      byte_rows.push_back(bytes.data() + count * static_cast<std::size_t>(t));
      float_rows.push_back(floats.data() + count * static_cast<std::size_t>(t));
    }
    compare<float>(count, [&](const Kernels& k, float* out) {
      k.blend_rows_u8(byte_rows.data(), weights.data(), taps, out, count);
    });
    compare<float>(count, [&](const Kernels& k, float* out) {
      k.blend_rows_f32(float_rows.data(), weights.data(), taps, out, count);
    });
    // ... and are the sums they promise.
    std::vector<float> out(count);
    kernels().blend_rows_u8(byte_rows.data(), weights.data(), taps, out.data(), count);
    for (std::size_t x = 0; x < count; ++x) {
      double sum = 0;
      for (int t = 0; t < taps; ++t)
        sum += static_cast<double>(weights[static_cast<std::size_t>(t)]) *
               byte_rows[static_cast<std::size_t>(t)][x];
      ASSERT_NEAR(out[x], sum, 1e-3);
    }
  }
}

TEST(Kernels, blended_columns_have_the_same_bits_in_every_set) {
  Draws draws(2, 0, 0);
  for (int i = 0; i < 300; ++i) {
    const int count = 1 + static_cast<int>(draws.below(120)), taps = 1 + static_cast<int>(draws.below(12)),
              width = taps + static_cast<int>(draws.below(100));
    const auto row = random_floats(draws, static_cast<std::size_t>(width) * 4, -100, 400);
    const auto weights = random_floats(draws, static_cast<std::size_t>(count * taps), -0.5, 1);
    std::vector<int> first(static_cast<std::size_t>(count));
    for (int& f : first) f = static_cast<int>(draws.below(static_cast<std::uint64_t>(width - taps) + 1));
    const std::size_t n = static_cast<std::size_t>(count);
    compare<std::uint8_t>(4 * n, [&](const Kernels& k, std::uint8_t* out) {
      k.blend_columns_x4_u8(row.data(), first.data(), weights.data(), taps, out, count);
    });
    // Three items a pixel give what four do, the fourth apart.
    std::vector<float> three(static_cast<std::size_t>(width) * 3 + 1);
    for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x)
      std::copy_n(&row[4 * x], 3, &three[3 * x]);
    std::vector<std::uint8_t> of_three(4 * n), of_four(4 * n);
    const Sets sets;
    for (const Kernels* k : std::span(sets.all, sets.count)) {
      k->blend_columns_x3_u8(three.data(), first.data(), weights.data(), taps, of_three.data(), count);
      k->blend_columns_x4_u8(row.data(), first.data(), weights.data(), taps, of_four.data(), count);
      for (std::size_t x = 0; x < n; ++x)
        ASSERT_TRUE(std::equal(&of_three[4 * x], &of_three[4 * x + 3], &of_four[4 * x])) << k->name;
    }
    compare<float>(4 * n, [&](const Kernels& k, float* out) {
      k.blend_columns_x4_f32(row.data(), first.data(), weights.data(), taps, out, count);
    });
    compare<std::uint8_t>(n, [&](const Kernels& k, std::uint8_t* out) {
      k.blend_columns_x1_u8(row.data(), first.data(), weights.data(), taps, out, count);
    });
    compare<float>(n, [&](const Kernels& k, float* out) {
      k.blend_columns_x1_f32(row.data(), first.data(), weights.data(), taps, out, count);
    });
  }
}

TEST(Kernels, channels_have_the_same_bits_in_every_set_forwards_and_backwards) {
  Draws draws(3, 0, 0);
  for (int i = 0; i < 200; ++i) {
    const std::size_t count = 1 + draws.below(150);
    const auto bytes = random_bytes(draws, 4 * count);
    const float scale = static_cast<float>(draws.uniform(-0.1, 0.1)),
                bias = static_cast<float>(draws.uniform(-3, 3));
    for (const int step : {4, -4, 3, -3, 1, -1}) {
      const std::uint8_t* start =
          step > 0 ? bytes.data() : bytes.data() + (count - 1) * static_cast<std::size_t>(-step);
      compare<float>(count, [&](const Kernels& k, float* out) {
        k.channel_to_f32(start, step, out, count, scale, bias);
      });
      compare<std::uint16_t>(count, [&](const Kernels& k, std::uint16_t* out) {
        k.channel_to_f16(start, step, out, count, scale, bias);
      });
      compare<std::uint16_t>(count, [&](const Kernels& k, std::uint16_t* out) {
        k.channel_to_bf16(start, step, out, count, scale, bias);
      });
      compare<std::uint8_t>(
          count, [&](const Kernels& k, std::uint8_t* out) { k.channel_to_u8(start, step, out, count); });
      std::vector<float> out(count);
      kernels().channel_to_f32(start, step, out.data(), count, scale, bias);
      for (std::size_t x = 0; x < count; ++x)
        ASSERT_NEAR(out[x], static_cast<float>(start[static_cast<std::ptrdiff_t>(x) * step]) * scale + bias,
                    1e-5);
    }
    const float scales[3] = {scale, scale * 2, 1}, biases[3] = {bias, 0, -bias};
    for (const int step : {4, -4, 3, -3}) {
      const std::uint8_t* start =
          step > 0 ? bytes.data() : bytes.data() + (count - 1) * static_cast<std::size_t>(-step);
      compare<std::uint8_t>(
          3 * count, [&](const Kernels& k, std::uint8_t* out) { k.pack_rgb_u8(start, step, out, count); });
      compare<float>(3 * count, [&](const Kernels& k, float* out) {
        k.pack_rgb_f32(start, step, out, count, scales, biases);
      });
    }
    // There and back.
    std::vector<std::uint8_t> three(3 * count), four(4 * count);
    kernels().pack_rgb_u8(bytes.data(), 4, three.data(), count);
    kernels().unpack_rgb_u8(three.data(), four.data(), count);
    for (std::size_t x = 0; x < count; ++x)
      ASSERT_TRUE(std::equal(&four[4 * x], &four[4 * x + 3], &bytes[4 * x])) << x;
  }
}

TEST(Kernels, halves_have_the_same_bits_in_every_set_for_all_kinds_of_floats) {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000; high += 3)  // every exponent and sign, near rounding edges
    for (const std::uint32_t low : {0u, 1u, 0x0FFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu})
      values.push_back(std::bit_cast<float>(high << 16 | low));
  const auto is_nan16 = [](std::uint16_t half) { return (half & 0x7FFF) > 0x7C00; };
  const auto is_nanb = [](std::uint16_t half) { return (half & 0x7FFF) > 0x7F80; };
  const Sets sets;
  std::vector<std::uint16_t> reference(values.size()), out(values.size());
  sets.all[0]->f32_to_f16(values.data(), reference.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(std::isnan(values[i]), is_nan16(reference[i]));
  for (std::size_t s = 1; s < sets.count; ++s) {
    sets.all[s]->f32_to_f16(values.data(), out.data(), values.size());
    ASSERT_TRUE(same_bits(reference, out)) << sets.all[s]->name;
  }
  sets.all[0]->f32_to_bf16(values.data(), reference.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(std::isnan(values[i]), is_nanb(reference[i]));
  for (std::size_t s = 1; s < sets.count; ++s) {
    sets.all[s]->f32_to_bf16(values.data(), out.data(), values.size());
    ASSERT_TRUE(same_bits(reference, out)) << sets.all[s]->name;
  }
}

TEST(Kernels, halves_are_rounded_to_nearest_even) {
  const struct {
    float value;
    std::uint16_t half, brain;
  } rows[] = {{0.f, 0, 0},
              {-0.f, 0x8000, 0x8000},
              {1.f, 0x3C00, 0x3F80},
              {-2.f, 0xC000, 0xC000},
              {65504.f, 0x7BFF, 0x4780},
              {65520.f, 0x7C00, 0x4780},
              {1e9f, 0x7C00, 0x4E6E},
              {5.9604645e-8f, 0x0001, 0x3380},
              {2.9802322e-8f, 0x0000, 0x3300},
              {2.99e-8f, 0x0001, 0x3300},
              {1.00048828125f, 0x3C00, 0x3F80},
              {1.00146484375f, 0x3C02, 0x3F80},
              {1.00390625f, 0x3C04, 0x3F80},
              {std::numeric_limits<float>::infinity(), 0x7C00, 0x7F80}};
  const Sets sets;
  for (std::size_t s = 0; s < sets.count; ++s)
    for (const auto& row : rows) {
      std::uint16_t half = 0, brain = 0;
      sets.all[s]->f32_to_f16(&row.value, &half, 1);
      sets.all[s]->f32_to_bf16(&row.value, &brain, 1);
      EXPECT_EQ(half, row.half) << row.value << " " << sets.all[s]->name;
      EXPECT_EQ(brain, row.brain) << row.value << " " << sets.all[s]->name;
    }
}

TEST(Kernels, scaled_floats_have_the_same_bits_also_in_place) {
  Draws draws(4, 0, 0);
  const auto values = random_floats(draws, 1000);
  compare<float>(1000,
                 [&](const Kernels& k, float* out) { k.scale_f32(values.data(), out, 1000, 0.3f, -7.f); });
}

}  // namespace
}  // namespace penstock
