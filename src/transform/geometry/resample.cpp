#include "transform/geometry/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "transform/kernels/kernels.h"

namespace penstock {
namespace {

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double filter_value(Interpolation filter, double x) {
  x = std::abs(x);
  switch (filter) {
    case Interpolation::kBilinear: return x < 1 ? 1 - x : 0;
    case Interpolation::kBicubic: {
      constexpr double a = -0.5;
      if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
      if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
      return 0;
    }
    case Interpolation::kLanczos: return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    case Interpolation::kNearest: break;
  }
  return 1;
}

double filter_radius(Interpolation filter) {
  switch (filter) {
    case Interpolation::kBilinear: return 1;
    case Interpolation::kBicubic: return 2;
    case Interpolation::kLanczos: return 3;
    case Interpolation::kNearest: break;
  }
  return 0;
}

template <typename T>
void resample_rows(const View& input, const AxisPlan& columns, const AxisPlan& rows, T* output,
                   float* row_buffer, int items, int out_items) {
  const Kernels& k = kernels();
  const auto width = columns.first.size(), height = rows.first.size();
  const auto count = static_cast<std::size_t>(columns.end - columns.begin) * static_cast<std::size_t>(items);
  std::vector<const T*> taps(static_cast<std::size_t>(rows.taps));
  std::vector<int> first(columns.first);
  for (int& x : first) x -= columns.begin;
  // Taps beyond the end have weight zero, but they are read, so they must not be NaN.
  std::fill_n(row_buffer + count, columns.taps * items, 0.0f);
  for (std::size_t y = 0; y < height; ++y) {
    for (int t = 0; t < rows.taps; ++t)
      taps[static_cast<std::size_t>(t)] =
          reinterpret_cast<const T*>(input.data +
                                     std::min(rows.first[y] + t, rows.end - 1) * input.stride[0]) +
          static_cast<std::ptrdiff_t>(columns.begin) * items;
    const float* weights = rows.weights.data() + y * static_cast<std::size_t>(rows.taps);
    T* out = output + y * width * static_cast<std::size_t>(out_items);
    const int out_width = static_cast<int>(width);
    if constexpr (sizeof(T) == 1) {
      k.blend_rows_u8(taps.data(), weights, rows.taps, row_buffer, count);
      (items == 4   ? k.blend_columns_x4_u8
       : items == 3 ? k.blend_columns_x3_u8
                    : k.blend_columns_x1_u8)(row_buffer, first.data(), columns.weights.data(), columns.taps,
                                             out, out_width);
    } else {
      k.blend_rows_f32(taps.data(), weights, rows.taps, row_buffer, count);
      (items == 4 ? k.blend_columns_x4_f32 : k.blend_columns_x1_f32)(
          row_buffer, first.data(), columns.weights.data(), columns.taps, out, out_width);
    }
  }
}

}  // namespace

void AxisPlan::reverse() {
  std::ranges::reverse(first);
  const auto width = static_cast<std::size_t>(taps);
  for (std::size_t low = 0, high = first.size(); low + 1 < high--; ++low)
    std::swap_ranges(weights.begin() + static_cast<std::ptrdiff_t>(low * width),
                     weights.begin() + static_cast<std::ptrdiff_t>((low + 1) * width),
                     weights.begin() + static_cast<std::ptrdiff_t>(high * width));
}

AxisPlan plan_identity(int size) {
  AxisPlan plan;
  plan.taps = 1;
  plan.first.resize(static_cast<std::size_t>(size));
  std::iota(plan.first.begin(), plan.first.end(), 0);
  plan.weights.assign(plan.first.size(), 1.0f);
  plan.end = size;
  return plan;
}

void AxisPlan::rebase() {
  for (int& input : first) input -= begin;
  end -= begin;
  begin = 0;
}

void plan_axis(AxisPlan& plan, double box_begin, double box_size, int input_size, int full_size,
               int window_begin, int window_size, Interpolation filter, bool antialias) {
  const auto count = static_cast<std::size_t>(window_size);
  const double scale = box_size / full_size;
  plan.first.resize(count);
  plan.overshoots = filter == Interpolation::kBicubic || filter == Interpolation::kLanczos;
  if (filter == Interpolation::kNearest) {
    plan.taps = 1;
    plan.weights.assign(count, 1.0f);
    for (std::size_t i = 0; i < count; ++i) {
      const double centre =
          box_begin + (static_cast<double>(window_begin) + static_cast<double>(i) + 0.5) * scale;
      plan.first[i] = std::clamp(static_cast<int>(std::floor(centre)), 0, input_size - 1);
    }
  } else {
    const double stretch = antialias ? std::max(scale, 1.0) : 1.0;
    const double radius = filter_radius(filter) * stretch;
    const int max_taps = std::min(static_cast<int>(std::ceil(radius)) * 2 + 1, input_size);
    plan.taps = 0;
    plan.weights.assign(count * static_cast<std::size_t>(max_taps), 0.0f);
    std::vector<double> values(static_cast<std::size_t>(max_taps));
    for (std::size_t i = 0; i < count; ++i) {
      const double centre =
          box_begin + (static_cast<double>(window_begin) + static_cast<double>(i) + 0.5) * scale;
      const int from = std::clamp(static_cast<int>(std::floor(centre - radius + 0.5)), 0, input_size - 1);
      const int to = std::clamp(static_cast<int>(std::floor(centre + radius + 0.5)), from + 1, input_size);
      const int taps = std::min(to - from, max_taps);
      double sum = 0;
      for (int t = 0; t < taps; ++t)
        sum += values[static_cast<std::size_t>(t)] =
            filter_value(filter, (from + t - centre + 0.5) / stretch);
      int used = 0;
      for (int t = 0; t < taps; ++t) {
        const double weight = sum != 0 ? values[static_cast<std::size_t>(t)] / sum : (t == 0);
        plan.weights[i * static_cast<std::size_t>(max_taps) + static_cast<std::size_t>(t)] =
            static_cast<float>(weight);
        if (weight != 0) used = t + 1;
      }
      plan.first[i] = from;
      plan.taps = std::max(plan.taps, used);
    }
    // Remove the unused taps: the output with the most of them decides.
    for (std::size_t i = 0; i < count; ++i)
      std::copy_n(plan.weights.begin() + static_cast<std::ptrdiff_t>(i) * max_taps, plan.taps,
                  plan.weights.begin() + static_cast<std::ptrdiff_t>(i) * plan.taps);
    plan.weights.resize(count * static_cast<std::size_t>(plan.taps));
  }
  const auto [low, high] = std::ranges::minmax(plan.first);
  plan.begin = low;
  plan.end = std::min(high + plan.taps, input_size);
}

View resample(const View& input, const AxisPlan& columns, const AxisPlan& rows, std::byte* output,
              float* row_buffer) {
  const auto item_bytes = static_cast<std::int64_t>(size_of(input.dtype));
  const int in_items = static_cast<int>(input.stride[1] / item_bytes), items = in_items == 1 ? 1 : 4;
  if (input.dtype == DType::kUInt8)
    resample_rows(input, columns, rows, reinterpret_cast<std::uint8_t*>(output), row_buffer, in_items, items);
  else
    resample_rows(input, columns, rows, reinterpret_cast<float*>(output), row_buffer, in_items, items);
  const auto width = static_cast<std::int64_t>(columns.first.size());
  return view_of_image(output, input.dtype, static_cast<std::int64_t>(rows.first.size()), width,
                       static_cast<int>(input.channels()), items, width * items * item_bytes);
}

}  // namespace penstock
