// RandomHorizontalFlip and RandomVerticalFlip compute or read pixels in the opposite order and move none. A mask is
// flipped in the same way.
#include "transform/ops/checks.h"
#include "transform/ops/op_table.h"

namespace penstock {
namespace {

class FlipOp final : public FrameOp {
 public:
  FlipOp(bool Frame::* mirror, double probability) : mirror_(mirror), probability_(probability) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }

  Result<bool> plan(Frame& frame, Draws& draws) const override {
    if (draws.chance(probability_)) frame.*mirror_ = !(frame.*mirror_);
    return true;
  }

 private:
  bool Frame::* mirror_;
  double probability_;
};

}  // namespace

Result<OpPtr> make_op(const RandomHorizontalFlip& spec, FieldKind) {
  PENSTOCK_CHECK(check_probability("RandomHorizontalFlip", spec.probability));
  return std::make_unique<FlipOp>(&Frame::mirror_x, spec.probability);
}

Result<OpPtr> make_op(const RandomVerticalFlip& spec, FieldKind) {
  PENSTOCK_CHECK(check_probability("RandomVerticalFlip", spec.probability));
  return std::make_unique<FlipOp>(&Frame::mirror_y, spec.probability);
}

}  // namespace penstock
