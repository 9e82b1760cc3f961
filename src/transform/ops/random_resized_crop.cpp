// RandomResizedCrop cuts out a random part of the image and resizes it. A mask is cropped in the same way and resized
// by nearest neighbours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "transform/ops/checks.h"
#include "transform/ops/op_table.h"

namespace penstock {
namespace {

constexpr int kTries = 10;

class RandomResizedCropOp final : public FrameOp {
 public:
  explicit RandomResizedCropOp(const RandomResizedCrop& spec) : spec_(spec) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }

  Result<bool> plan(Frame& frame, Draws& draws) const override {
    if (frame.resampled) return false;
    frame.crop(choose(frame.width(), frame.height(), draws));
    return frame.resize(spec_.height, spec_.width, spec_.interpolation, spec_.antialias);
  }

  std::optional<ImageSize> size_after(std::optional<ImageSize>) const override {
    return ImageSize{spec_.height, spec_.width};
  }

 private:
  // torchvision's rule: ten tries for a box of random area and ratio, then the largest central
  // one with a ratio in range.
  Rect choose(int width, int height, Draws& draws) const {
    const double area = static_cast<double>(width) * height;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const double target = area * draws.uniform(spec_.scale_from, spec_.scale_to);
      const double ratio = std::exp(draws.uniform(std::log(spec_.ratio_from), std::log(spec_.ratio_to)));
      const int w = static_cast<int>(std::nearbyint(std::sqrt(target * ratio)));
      const int h = static_cast<int>(std::nearbyint(std::sqrt(target / ratio)));
      if (w < 1 || h < 1 || w > width || h > height) continue;
      const int y = static_cast<int>(draws.below(static_cast<std::uint64_t>(height - h) + 1));
      const int x = static_cast<int>(draws.below(static_cast<std::uint64_t>(width - w) + 1));
      return {x, y, w, h};
    }
    const double ratio = static_cast<double>(width) / height;
    int w = width, h = height;
    if (ratio < spec_.ratio_from)
      h = static_cast<int>(std::nearbyint(w / spec_.ratio_from));
    else if (ratio > spec_.ratio_to)
      w = static_cast<int>(std::nearbyint(h * spec_.ratio_to));
    w = std::clamp(w, 1, width);
    h = std::clamp(h, 1, height);
    return {(width - w) / 2, (height - h) / 2, w, h};
  }

  RandomResizedCrop spec_;
};

}  // namespace

Result<OpPtr> make_op(const RandomResizedCrop& spec, FieldKind kind) {
  PENSTOCK_CHECK(check_sides("RandomResizedCrop", spec.height, spec.width));
  if (!(spec.scale_from > 0) || !(spec.scale_to >= spec.scale_from) || !(spec.scale_to <= 1))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("RandomResizedCrop scale=({}, {}): wants 0 < from <= to <= 1", spec.scale_from,
                            spec.scale_to));
  if (!(spec.ratio_from > 0) || !(spec.ratio_to >= spec.ratio_from))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("RandomResizedCrop ratio=({}, {}): wants 0 < from <= to", spec.ratio_from,
                            spec.ratio_to));
  RandomResizedCrop own = spec;
  if (kind == FieldKind::kMask) own.interpolation = Interpolation::kNearest;
  return std::make_unique<RandomResizedCropOp>(own);
}

}  // namespace penstock
