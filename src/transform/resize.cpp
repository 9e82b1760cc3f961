#include <fmt/format.h>

#include <algorithm>

#include "transform/op.h"

namespace penstock {
namespace {

class ResizeOp final : public Op {
 public:
  explicit ResizeOp(const Resize& spec) : spec_(spec) {}

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
      return std::max(1, static_cast<int>(static_cast<std::int64_t>(spec_.height) * other / shorter));
    };
    return height <= width ? FixedSize{spec_.height, longer(width, height)}
                           : FixedSize{longer(height, width), spec_.height};
  }

  Resize spec_;
};

}  // namespace

Result<OpPtr> make_op(const Resize& spec, bool is_mask) {
  if (spec.height < 1 || spec.width < 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Resize to {}x{}: sizes start at 1", spec.height, spec.width));
  Resize own = spec;
  if (is_mask) own.interpolation = Interpolation::kNearest;
  return std::make_unique<ResizeOp>(own);
}

}  // namespace penstock
