// RandomCrop cuts out a random part of the image. A mask is cropped in the same way.
#include "transform/ops/checks.h"
#include "transform/ops/op_table.h"

namespace penstock {
namespace {

class RandomCropOp final : public FrameOp {
 public:
  explicit RandomCropOp(const RandomCrop& spec) : spec_(spec) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }

  Result<bool> plan(Frame& frame, Draws& draws) const override {
    const int extra_height = frame.height() - spec_.height, extra_width = frame.width() - spec_.width;
    if (extra_height < 0 || extra_width < 0) return smaller_than_crop(frame, spec_.height, spec_.width);
    const int y = static_cast<int>(draws.below(static_cast<std::uint64_t>(extra_height) + 1));
    const int x = static_cast<int>(draws.below(static_cast<std::uint64_t>(extra_width) + 1));
    frame.crop({x, y, spec_.width, spec_.height});
    return true;
  }

  std::optional<ImageSize> size_after(std::optional<ImageSize>) const override {
    return ImageSize{spec_.height, spec_.width};
  }

 private:
  RandomCrop spec_;
};

}  // namespace

Result<OpPtr> make_op(const RandomCrop& spec, FieldKind) {
  PENSTOCK_CHECK(check_sides("RandomCrop", spec.height, spec.width));
  return std::make_unique<RandomCropOp>(spec);
}

}  // namespace penstock
