// CenterCrop and RandomCrop.
#include <fmt/format.h>

#include <cmath>

#include "transform/op.h"

namespace penstock {
namespace {

std::unexpected<Error> too_small(const Frame& frame, int height, int width) {
  return fail(ErrorCode::kShapeMismatch, fmt::format("image of {}x{} is smaller than the crop of {}x{}",
                                                     frame.height(), frame.width(), height, width));
}

class CenterCropOp final : public Op {
 public:
  explicit CenterCropOp(const CenterCrop& spec) : spec_(spec) {}

  bool is_fixed() const override { return true; }
  bool is_geometric() const override { return true; }
  Result<bool> plan(Frame& frame, Draws&) const override {
    const int extra_height = frame.height() - spec_.height, extra_width = frame.width() - spec_.width;
    if (extra_height < 0 || extra_width < 0) return too_small(frame, spec_.height, spec_.width);
    // torchvision rounds halves to even.
    frame.crop({static_cast<int>(std::nearbyint(extra_width / 2.0)),
                static_cast<int>(std::nearbyint(extra_height / 2.0)), spec_.width, spec_.height});
    return true;
  }

  std::optional<FixedSize> size_after(std::optional<FixedSize>) const override {
    return FixedSize{spec_.height, spec_.width};
  }

 private:
  CenterCrop spec_;
};

class RandomCropOp final : public Op {
 public:
  explicit RandomCropOp(const RandomCrop& spec) : spec_(spec) {}

  bool is_geometric() const override { return true; }
  Result<bool> plan(Frame& frame, Draws& draws) const override {
    const int extra_height = frame.height() - spec_.height, extra_width = frame.width() - spec_.width;
    if (extra_height < 0 || extra_width < 0) return too_small(frame, spec_.height, spec_.width);
    const int y = static_cast<int>(draws.below(static_cast<std::uint64_t>(extra_height) + 1));
    const int x = static_cast<int>(draws.below(static_cast<std::uint64_t>(extra_width) + 1));
    frame.crop({x, y, spec_.width, spec_.height});
    return true;
  }

  std::optional<FixedSize> size_after(std::optional<FixedSize>) const override {
    return FixedSize{spec_.height, spec_.width};
  }

 private:
  RandomCrop spec_;
};

}  // namespace

Result<OpPtr> make_op(const CenterCrop& spec) {
  PENSTOCK_CHECK(check_sides("CenterCrop", spec.height, spec.width));
  return std::make_unique<CenterCropOp>(spec);
}

Result<OpPtr> make_op(const RandomCrop& spec) {
  PENSTOCK_CHECK(check_sides("RandomCrop", spec.height, spec.width));
  return std::make_unique<RandomCropOp>(spec);
}

}  // namespace penstock
