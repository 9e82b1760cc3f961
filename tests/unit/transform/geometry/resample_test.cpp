// Against a straightforward double-precision computation from the definition.
#include "transform/geometry/resample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/random.h"

namespace penstock {
namespace {

double filter(Interpolation which, double x) {
  x = std::abs(x);
  const auto sinc = [](double v) {
    return v == 0 ? 1 : std::sin(std::numbers::pi * v) / (std::numbers::pi * v);
  };
  switch (which) {
    case Interpolation::kBilinear: return x < 1 ? 1 - x : 0;
    case Interpolation::kBicubic:
      return x < 1   ? 1.5 * x * x * x - 2.5 * x * x + 1
             : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2
                     : 0;
    case Interpolation::kLanczos: return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case Interpolation::kNearest: break;
  }
  return 0;
}

double support(Interpolation which) {
  return which == Interpolation::kBilinear ? 1 : which == Interpolation::kBicubic ? 2 : 3;
}

// Weight of every input for one output.
std::vector<double> weights_of(int output, int in, int out, Interpolation which, bool antialias) {
  std::vector<double> weights(static_cast<std::size_t>(in));
  const double scale = static_cast<double>(in) / out, centre = (output + 0.5) * scale;
  if (which == Interpolation::kNearest) {
    weights[static_cast<std::size_t>(std::min(in - 1, static_cast<int>(centre)))] = 1;
    return weights;
  }
  const double stretch = antialias ? std::max(1.0, scale) : 1.0, radius = support(which) * stretch;
  // Pillow's bounds: inputs whose centre is within half a pixel of the support.
  const int from = std::max(0, static_cast<int>(std::floor(centre - radius + 0.5))),
            to = std::min(in, static_cast<int>(std::floor(centre + radius + 0.5)));
  double sum = 0;
  for (int i = from; i < to; ++i)
    sum += weights[static_cast<std::size_t>(i)] = filter(which, (i + 0.5 - centre) / stretch);
  for (double& w : weights) w /= sum;
  return weights;
}

template <typename T>
void check(int in_width, int in_height, int items, int out_width, int out_height, Rect window,
           Interpolation which, bool antialias, Draws& draws) {
  std::vector<T> input(static_cast<std::size_t>(in_width * in_height * items));
  for (T& v : input) v = static_cast<T>(draws.below(256));
  AxisPlan columns, rows;
  plan_axis(columns, 0, in_width, in_width, out_width, window.x, window.width, which, antialias);
  plan_axis(rows, 0, in_height, in_height, out_height, window.y, window.height, which, antialias);
  ASSERT_GE(columns.begin, 0);
  ASSERT_LE(columns.end, in_width);
  ASSERT_GE(rows.begin, 0);
  ASSERT_LE(rows.end, in_height);
  const int channels = items == 1 ? 1 : 3, out_items = items == 1 ? 1 : 4;
  std::vector<T> output(static_cast<std::size_t>(window.width * window.height * out_items));
  std::vector<float> row(static_cast<std::size_t>((columns.end - columns.begin + columns.taps) * items));
  const DType dtype = sizeof(T) == 1 ? DType::kUInt8 : DType::kFloat32;
  const View view =
      view_of_image(reinterpret_cast<const std::byte*>(input.data()), dtype, in_height, in_width, channels,
                    items, static_cast<std::int64_t>(sizeof(T)) * in_width * items);
  const View made = resample(view, columns, rows, reinterpret_cast<std::byte*>(output.data()), row.data());
  ASSERT_EQ(made.height(), window.height);
  ASSERT_EQ(made.width(), window.width);
  for (int y = 0; y < window.height; ++y) {
    const auto wy = weights_of(window.y + y, in_height, out_height, which, antialias);
    for (int x = 0; x < window.width; ++x) {
      const auto wx = weights_of(window.x + x, in_width, out_width, which, antialias);
      for (int c = 0; c < channels; ++c) {
        double sum = 0;
        for (int iy = 0; iy < in_height; ++iy)
          for (int ix = 0; ix < in_width; ++ix)
            sum += wy[static_cast<std::size_t>(iy)] * wx[static_cast<std::size_t>(ix)] *
                   static_cast<double>(input[static_cast<std::size_t>((iy * in_width + ix) * items + c)]);
        const double got =
            static_cast<double>(output[static_cast<std::size_t>((y * window.width + x) * out_items + c)]);
        if constexpr (sizeof(T) == 1) {
          const double clamped = std::min(255.0, std::max(0.0, sum));
          // Half a level of rounding, and a little where the sum is right at a half.
          ASSERT_NEAR(got, clamped, 0.51) << in_width << "x" << in_height << " to " << out_width << "x"
                                          << out_height << " at " << x << "," << y;
        } else {
          ASSERT_NEAR(got, sum, 0.01) << in_width << "x" << in_height << " to " << out_width << "x"
                                      << out_height << " at " << x << "," << y;
        }
      }
    }
  }
}

TEST(Resample, is_the_definition_for_random_sizes_filters_and_windows) {
  Draws draws(17, 0, 0);
  for (int i = 0; i < 200; ++i) {
    const int in_w = 1 + static_cast<int>(draws.below(40)), in_h = 1 + static_cast<int>(draws.below(40));
    const int out_w = 1 + static_cast<int>(draws.below(draws.chance(0.5) ? 20 : 70)),
              out_h = 1 + static_cast<int>(draws.below(30));
    Rect window{0, 0, out_w, out_h};
    if (draws.chance(0.5)) {
      window.width = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(out_w)));
      window.height = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(out_h)));
      window.x = static_cast<int>(draws.below(static_cast<std::uint64_t>(out_w - window.width) + 1));
      window.y = static_cast<int>(draws.below(static_cast<std::uint64_t>(out_h - window.height) + 1));
    }
    const auto which = static_cast<Interpolation>(draws.below(4));
    const bool antialias = draws.chance(0.5);
    const int items = draws.chance(0.5) ? 4 : 1;
    if (draws.chance(0.3))
      check<std::uint8_t>(in_w, in_h, 3, out_w, out_h, window, which, antialias, draws);
    else if (draws.chance(0.5))
      check<std::uint8_t>(in_w, in_h, items, out_w, out_h, window, which, antialias, draws);
    else
      check<float>(in_w, in_h, items, out_w, out_h, window, which, antialias, draws);
    if (HasFatalFailure()) return;
  }
}

TEST(Resample, to_the_same_size_changes_nothing) {
  Draws draws(18, 0, 0);
  for (const auto which :
       {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic, Interpolation::kLanczos})
    check<std::uint8_t>(13, 11, 4, 13, 11, {0, 0, 13, 11}, which, true, draws);
}

TEST(Resample, extreme_shrinking_and_growing_stay_in_bounds) {
  Draws draws(19, 0, 0);
  check<std::uint8_t>(2000, 3, 1, 1, 1, {0, 0, 1, 1}, Interpolation::kLanczos, true, draws);
  check<std::uint8_t>(1, 1, 4, 200, 3, {0, 0, 200, 3}, Interpolation::kBicubic, true, draws);
  check<float>(2, 2, 1, 150, 5, {140, 1, 10, 4}, Interpolation::kLanczos, false, draws);
}

}  // namespace
}  // namespace penstock
