// Resize changes the size of the whole image. A mask is always resized by nearest neighbours, because a value between
// two classes would be a third class.
#include <algorithm>

#include "base/limits.h"
#include "transform/ops/checks.h"
#include "transform/ops/fingerprint.h"
#include "transform/ops/op_table.h"

namespace penstock {
namespace {

class ResizeOp final : public FrameOp {
 public:
  ResizeOp(const Resize& spec, bool is_mask)
      : spec_(spec),
        interpolation_(is_mask ? Interpolation::kNearest : spec.interpolation) {}

  // The fingerprint of a mask contains the requested interpolation too; the kind of the field distinguishes the
  // results.
  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t before) const override {
    return mix_fingerprint(
        before, {1, spec_.height, spec_.width, static_cast<int>(spec_.interpolation), spec_.antialias});
  }

  Result<bool> plan(Frame& frame, Draws&) const override {
    const ImageSize size = target(frame.height(), frame.width());
    return frame.resize(size.height, size.width, interpolation_, spec_.antialias);
  }

  std::optional<ImageSize> size_after(std::optional<ImageSize> before) const override {
    if (spec_.width != 0) return ImageSize{spec_.height, spec_.width};
    if (before) return target(before->height, before->width);
    return std::nullopt;
  }

 private:
  ImageSize target(int height, int width) const {
    if (spec_.width != 0) return {spec_.height, spec_.width};
    const auto longer = [&](int other, int shorter) {
      const std::int64_t side = static_cast<std::int64_t>(spec_.height) * other / shorter;
      return static_cast<int>(
          std::clamp<std::int64_t>(side, 1, static_cast<std::int64_t>(Limits{}.image_side)));
    };
    return height <= width ? ImageSize{spec_.height, longer(width, height)}
                           : ImageSize{longer(height, width), spec_.height};
  }

  Resize spec_;
  Interpolation interpolation_;
};

}  // namespace

Result<OpPtr> make_op(const Resize& spec, FieldKind kind) {
  PENSTOCK_CHECK(check_sides("Resize", spec.height, spec.width == 0 ? spec.height : spec.width));
  return std::make_unique<ResizeOp>(spec, kind == FieldKind::kMask);
}

}  // namespace penstock
