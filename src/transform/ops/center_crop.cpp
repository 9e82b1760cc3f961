// CenterCrop cuts out the middle of the image. A mask is cropped in the same way.
#include <cmath>

#include "transform/ops/checks.h"
#include "transform/ops/fingerprint.h"
#include "transform/ops/op_table.h"

namespace penstock {
namespace {

class CenterCropOp final : public FrameOp {
 public:
  explicit CenterCropOp(const CenterCrop& spec) : spec_(spec) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t before) const override {
    return mix_fingerprint(before, {2, spec_.height, spec_.width});
  }

  Result<bool> plan(Frame& frame, Draws&) const override {
    const int extra_height = frame.height() - spec_.height, extra_width = frame.width() - spec_.width;
    if (extra_height < 0 || extra_width < 0) return smaller_than_crop(frame, spec_.height, spec_.width);
    // torchvision rounds halves to even.
    frame.crop({static_cast<int>(std::nearbyint(extra_width / 2.0)),
                static_cast<int>(std::nearbyint(extra_height / 2.0)), spec_.width, spec_.height});
    return true;
  }

  std::optional<ImageSize> size_after(std::optional<ImageSize>) const override {
    return ImageSize{spec_.height, spec_.width};
  }

 private:
  CenterCrop spec_;
};

}  // namespace

Result<OpPtr> make_op(const CenterCrop& spec, FieldKind) {
  PENSTOCK_CHECK(check_sides("CenterCrop", spec.height, spec.width));
  return std::make_unique<CenterCropOp>(spec);
}

}  // namespace penstock
