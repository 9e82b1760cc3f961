// RandomErasing sets a random rectangle of the image to one value. It does not change masks, because the model should
// still find what is erased.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "transform/ops/checks.h"
#include "transform/ops/op_table.h"
#include "transform/packed_image.h"

namespace penstock {
namespace {

constexpr int kErasingTries = 10;

struct RandomErasingPlan {
  Rect erased;  // nothing is erased if the width or height is 0
};

template <typename T>
void fill_rectangle(std::byte* image, std::int64_t row_bytes, std::int64_t items, const Rect& rect,
                    const std::vector<T>& pixel) {
  for (int y = rect.y; y < rect.y + rect.height; ++y) {
    T* row = reinterpret_cast<T*>(image + y * row_bytes) + rect.x * items;
    for (int x = 0; x < rect.width; ++x) std::ranges::copy(pixel, row + x * items);
  }
}

class RandomErasingOp final : public PixelOp {
 public:
  explicit RandomErasingOp(const RandomErasing& spec) : spec_(spec) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }
  bool needs_size() const override { return true; }

  // torchvision's rule: ten tries for a rectangle that is smaller than the image; if all fail, nothing is erased.
  OpPlan plan(std::optional<ImageSize> size, Draws& draws) const override {
    if (!draws.chance(spec_.probability)) return OpPlan::of(RandomErasingPlan{});
    const double area = static_cast<double>(size->width) * size->height;
    for (int attempt = 0; attempt < kErasingTries; ++attempt) {
      const double target = area * draws.uniform(spec_.scale_from, spec_.scale_to);
      const double ratio = std::exp(draws.uniform(std::log(spec_.ratio_from), std::log(spec_.ratio_to)));
      const double height = std::nearbyint(std::sqrt(target * ratio));
      const double width = std::nearbyint(std::sqrt(target / ratio));
      if (height >= size->height || width >= size->width) continue;
      Rect rect{0, 0, static_cast<int>(width), static_cast<int>(height)};
      rect.y = static_cast<int>(draws.below(static_cast<std::uint64_t>(size->height - rect.height) + 1));
      rect.x = static_cast<int>(draws.below(static_cast<std::uint64_t>(size->width - rect.width) + 1));
      return OpPlan::of(RandomErasingPlan{rect});
    }
    return OpPlan::of(RandomErasingPlan{});
  }

  Status apply(View& view, const OpPlan& plan, Workspace& workspace) const override {
    const auto channels = static_cast<std::size_t>(view.channels());
    if (spec_.value.size() != 1 && spec_.value.size() != channels)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("RandomErasing has {} values; the image has {} channels", spec_.value.size(), channels));
    const Rect rect = plan.as<RandomErasingPlan>().erased;
    if (rect.width == 0 || rect.height == 0) return {};
    const bool is_bytes = view.dtype == DType::kUInt8 && view.affine.scale == nullptr;
    const DType dtype = is_bytes ? DType::kUInt8 : DType::kFloat32;
    const auto pixels = copy_packed(view, workspace, dtype);
    if (!pixels) return std::unexpected(pixels.error());
    if (is_bytes)
      fill_rectangle(*pixels, view.stride[0], channels == 1 ? 1 : 4, rect, erased_pixel<std::uint8_t>(channels));
    else
      fill_rectangle(*pixels, view.stride[0], channels == 1 ? 1 : 4, rect, erased_pixel<float>(channels));
    return {};
  }

 private:
  template <typename T>
  std::vector<T> erased_pixel(std::size_t channels) const {
    std::vector<T> pixel(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const double value = spec_.value[spec_.value.size() == 1 ? 0 : c];
      pixel[c] = static_cast<T>(std::is_same_v<T, float> ? value : std::clamp(value, 0.0, 255.0));
    }
    return pixel;
  }

  RandomErasing spec_;
};

}  // namespace

Result<OpPtr> make_op(const RandomErasing& spec, FieldKind kind) {
  PENSTOCK_CHECK(check_probability("RandomErasing", spec.probability));
  if (!(spec.scale_from >= 0) || !(spec.scale_to >= spec.scale_from) || !(spec.scale_to <= 1))
    return fail(ErrorCode::kInvalidArgument, fmt::format("RandomErasing scale=({}, {}): wants 0 <= from <= to <= 1",
                                                         spec.scale_from, spec.scale_to));
  if (!(spec.ratio_from > 0) || !(spec.ratio_to >= spec.ratio_from) || !std::isfinite(spec.ratio_to))
    return fail(ErrorCode::kInvalidArgument, fmt::format("RandomErasing ratio=({}, {}): wants 0 < from <= to",
                                                         spec.ratio_from, spec.ratio_to));
  if (spec.value.empty() || !std::ranges::all_of(spec.value, [](double value) { return std::isfinite(value); }))
    return fail(ErrorCode::kInvalidArgument, "RandomErasing: value must be one finite number, or one per channel");
  if (kind == FieldKind::kMask) return nullptr;
  return std::make_unique<RandomErasingOp>(spec);
}

}  // namespace penstock
