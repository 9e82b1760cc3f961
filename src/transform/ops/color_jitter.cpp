// ColorJitter with Pillow's arithmetic (ImageEnhance and HSV), which torchvision uses for images. It fails for a mask,
// whose values are not colours.
#include "transform/ops/color_jitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "decode/image/grey.h"
#include "transform/ops/op_table.h"
#include "transform/packed_image.h"

namespace penstock {
namespace {

using Byte = std::uint8_t;

Byte blend(int from, int to, float factor) {
  const float value = static_cast<float>(from) + factor * static_cast<float>(to - from);
  return value <= 0 ? 0 : value >= 255 ? 255 : static_cast<Byte>(value);
}

struct Pixels {
  Byte* data;
  std::size_t count;
};

void brighten(Pixels image, float factor) {
  for (std::size_t i = 0; i < image.count; ++i)
    for (std::size_t c = 0; c < 3; ++c) image.data[4 * i + c] = blend(0, image.data[4 * i + c], factor);
}

void contrast(Pixels image, float factor) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < image.count; ++i)
    sum += luma(image.data[4 * i], image.data[4 * i + 1], image.data[4 * i + 2]);
  const int mean = static_cast<int>(static_cast<double>(sum) / static_cast<double>(image.count) + 0.5);
  for (std::size_t i = 0; i < image.count; ++i)
    for (std::size_t c = 0; c < 3; ++c) image.data[4 * i + c] = blend(mean, image.data[4 * i + c], factor);
}

void saturate(Pixels image, float factor) {
  for (std::size_t i = 0; i < image.count; ++i) {
    Byte* p = image.data + 4 * i;
    const int grey = luma(p[0], p[1], p[2]);
    for (std::size_t c = 0; c < 3; ++c) p[c] = blend(grey, p[c], factor);
  }
}

Byte to_byte(double value) { return static_cast<Byte>(std::clamp(static_cast<int>(value), 0, 255)); }

std::array<Byte, 3> rgb_to_hsv(const Byte* p) {
  const Byte high = std::max({p[0], p[1], p[2]}), low = std::min({p[0], p[1], p[2]});
  if (high == low) return {0, 0, high};
  const float range = static_cast<float>(high - low);
  const float red = static_cast<float>(high - p[0]) / range, green = static_cast<float>(high - p[1]) / range,
              blue = static_cast<float>(high - p[2]) / range;
  // Pillow's mixture of float and double, since the result is cut off, not rounded.
  float hue =
      p[0] == high ? blue - green : static_cast<float>(p[1] == high ? 2.0 + red - blue : 4.0 + green - red);
  hue = static_cast<float>(std::fmod(hue / 6.0 + 1.0, 1.0));
  return {to_byte(hue * 255.0), to_byte(range / static_cast<float>(high) * 255.0), high};
}

void hsv_to_rgb(std::array<Byte, 3> hsv, Byte* out) {
  const float value = hsv[2], saturation = static_cast<float>(hsv[1]) / 255.0f;
  if (hsv[1] == 0) {
    out[0] = out[1] = out[2] = hsv[2];
    return;
  }
  const float sixth = static_cast<float>(hsv[0]) * 6.0f / 255.0f;
  const float whole = std::floor(sixth), part = sixth - whole;
  const auto level = [&](float share) { return to_byte(std::round(value * share)); };
  const Byte v = hsv[2], p = level(1 - saturation), q = level(1 - saturation * part),
             t = level(1 - saturation * (1 - part));
  const std::array<std::array<Byte, 3>, 6> table = {
      {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}};
  std::ranges::copy(table[static_cast<std::size_t>(whole) % 6], out);
}

void shift_hue(Pixels image, float factor) {
  const auto shift = static_cast<Byte>(static_cast<int>(factor * 255.0f));
  for (std::size_t i = 0; i < image.count; ++i) {
    auto hsv = rgb_to_hsv(image.data + 4 * i);
    hsv[0] = static_cast<Byte>(hsv[0] + shift);
    hsv_to_rgb(hsv, image.data + 4 * i);
  }
}

class ColorJitterOp final : public PixelOp {
 public:
  explicit ColorJitterOp(const ColorJitter& spec) : spec_(spec) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }

  OpPlan plan(std::optional<ImageSize>, Draws& draws) const override {
    ColorJitterPlan plan;
    plan.order = {JitterStep::kBrightness, JitterStep::kContrast, JitterStep::kSaturation, JitterStep::kHue};
    for (std::size_t i = 3; i > 0; --i) std::swap(plan.order[i], plan.order[draws.below(i + 1)]);
    const auto draw = [&](const ColorJitter::Range& range) {
      return static_cast<float>(draws.uniform(range.from, range.to));
    };
    plan.brightness = draw(spec_.brightness);
    plan.contrast = draw(spec_.contrast);
    plan.saturation = draw(spec_.saturation);
    plan.hue = draw(spec_.hue);
    return OpPlan::of(plan);
  }

  Status apply(View& view, const OpPlan& plan, Workspace& workspace) const override {
    PENSTOCK_CHECK(make_packed(view, workspace));
    if (view.dtype != DType::kUInt8 || view.channels() != 3)
      return fail(ErrorCode::kShapeMismatch, "ColorJitter needs uint8 images of three channels");
    // This works on a copy, because a derived field may need the decoded pixels too.
    const auto row = static_cast<std::size_t>(view.width()) * 4;
    const auto height = static_cast<std::size_t>(view.height());
    int buffer = -1;
    const auto memory = workspace.pixels_beside(view, row * height, buffer);
    if (!memory) return std::unexpected(memory.error());
    for (std::size_t y = 0; y < height; ++y)
      std::copy_n(view.data + static_cast<std::int64_t>(y) * view.stride[0], row, memory->data() + y * row);
    jitter_pixels(plan.as<ColorJitterPlan>(), reinterpret_cast<Byte*>(memory->data()), row * height / 4);
    view = view_of_image(memory->data(), DType::kUInt8, view.height(), view.width(), 3, 4,
                         static_cast<std::int64_t>(row));
    view.buffer = buffer;
    return {};
  }

 private:
  ColorJitter spec_;
};

}  // namespace

void jitter_pixels(const ColorJitterPlan& plan, std::uint8_t* pixels, std::size_t count) {
  const Pixels image{pixels, count};
  for (const JitterStep step : plan.order) {
    if (step == JitterStep::kBrightness && plan.brightness != 1) brighten(image, plan.brightness);
    if (step == JitterStep::kContrast && plan.contrast != 1) contrast(image, plan.contrast);
    if (step == JitterStep::kSaturation && plan.saturation != 1) saturate(image, plan.saturation);
    if (step == JitterStep::kHue && plan.hue != 0) shift_hue(image, plan.hue);
  }
}

Result<OpPtr> make_op(const ColorJitter& spec, FieldKind) {
  const auto ordered = [](const ColorJitter::Range& range, double low, double high) {
    return range.from >= low && range.to >= range.from && range.to <= high;
  };
  constexpr double kMax = 1e6;
  if (!ordered(spec.brightness, 0, kMax) || !ordered(spec.contrast, 0, kMax) ||
      !ordered(spec.saturation, 0, kMax) || !ordered(spec.hue, -0.5, 0.5))
    return fail(ErrorCode::kInvalidArgument,
                "ColorJitter: brightness, contrast and saturation must not be negative, hue must "
                "be within -0.5 to 0.5");
  return std::make_unique<ColorJitterOp>(spec);
}

}  // namespace penstock
