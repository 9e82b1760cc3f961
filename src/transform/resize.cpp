#include <algorithm>

#include "transform/op.h"

namespace penstock {
namespace {

class ResizeOp final : public Op {
 public:
  explicit ResizeOp(const Resize& spec) : spec_(spec) {}

  bool is_fixed() const override { return true; }
  bool is_geometric() const override { return true; }
  Result<bool> plan(Frame& frame, Draws&) const override {
    const FixedSize size = target(frame.height(), frame.width());
    return frame.resize(size.height, size.width, spec_.interpolation, spec_.antialias);
  }

  std::optional<FixedSize> size_after(std::optional<FixedSize> before) const override {
    if (spec_.width != 0) return FixedSize{spec_.height, spec_.width};
    if (before) return target(before->height, before->width);
    return std::nullopt;
  }

 private:
  FixedSize target(int height, int width) const {
    if (spec_.width != 0) return {spec_.height, spec_.width};
    const auto longer = [&](int other, int shorter) {
      const std::int64_t side = static_cast<std::int64_t>(spec_.height) * other / shorter;
      return static_cast<int>(
          std::clamp<std::int64_t>(side, 1, static_cast<std::int64_t>(Limits{}.image_side)));
    };
    return height <= width ? FixedSize{spec_.height, longer(width, height)}
                           : FixedSize{longer(height, width), spec_.height};
  }

  Resize spec_;
};

}  // namespace

Result<OpPtr> make_op(const Resize& spec, bool is_mask) {
  PENSTOCK_CHECK(check_sides("Resize", spec.height, spec.width == 0 ? spec.height : spec.width));
  Resize own = spec;
  if (is_mask) own.interpolation = Interpolation::kNearest;
  return std::make_unique<ResizeOp>(own);
}

}  // namespace penstock
