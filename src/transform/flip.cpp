// RandomHorizontalFlip, RandomVerticalFlip, RandomFlip3D and RandomRot90: the order in which
// pixels are computed or read changes, no pixel is moved for it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transform/op.h"

namespace penstock {
namespace {

Status check_probability(const char* name, double probability) {
  if (probability >= 0 && probability <= 1) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} probability {}: wants 0 to 1", name, probability));
}

class FlipOp final : public Op {
 public:
  FlipOp(bool Frame::* mirror, double probability) : mirror_(mirror), probability_(probability) {}

  bool is_geometric() const override { return true; }
  Result<bool> plan(Frame& frame, Draws& draws) const override {
    if (draws.chance(probability_)) frame.*mirror_ = !(frame.*mirror_);
    return true;
  }

 private:
  bool Frame::* mirror_;
  double probability_;
};

class Flip3DOp final : public Op {
 public:
  explicit Flip3DOp(double probability) : probability_(probability) {}

  bool only_changes_view() const override { return true; }
  Status apply(View& view, Context& context) const override {
    if (view.is_image || view.rank < 3)
      return fail(ErrorCode::kShapeMismatch, "RandomFlip3D needs an array of three or more axes");
    for (int axis = view.rank - 3; axis < view.rank; ++axis)
      if (context.draws.chance(probability_)) view.flip(axis);
    return {};
  }

 private:
  double probability_;
};

class Rot90Op final : public Op {
 public:
  bool only_changes_view() const override { return true; }
  Status apply(View& view, Context& context) const override {
    if (view.rank < 2) return fail(ErrorCode::kShapeMismatch, "RandomRot90 needs two axes");
    const int vertical = view.is_image ? 0 : view.rank - 2, horizontal = vertical + 1;
    const std::uint64_t turns = context.draws.below(4);
    if (turns >= 2) {
      view.flip(vertical);
      view.flip(horizontal);
    }
    if (turns % 2 == 1) {  // a quarter turn against the clock, as numpy.rot90
      const auto v = static_cast<std::size_t>(vertical), h = static_cast<std::size_t>(horizontal);
      view.flip(horizontal);
      std::swap(view.shape[v], view.shape[h]);
      std::swap(view.stride[v], view.stride[h]);
    }
    return {};
  }

  std::optional<FixedSize> size_after(std::optional<FixedSize> before) const override {
    return before && before->height == before->width ? before : std::nullopt;
  }
};

}  // namespace

Result<OpPtr> make_op(const RandomHorizontalFlip& spec) {
  PENSTOCK_CHECK(check_probability("RandomHorizontalFlip", spec.probability));
  return std::make_unique<FlipOp>(&Frame::mirror_x, spec.probability);
}

Result<OpPtr> make_op(const RandomVerticalFlip& spec) {
  PENSTOCK_CHECK(check_probability("RandomVerticalFlip", spec.probability));
  return std::make_unique<FlipOp>(&Frame::mirror_y, spec.probability);
}

Result<OpPtr> make_op(const RandomFlip3D& spec) {
  PENSTOCK_CHECK(check_probability("RandomFlip3D", spec.probability));
  return std::make_unique<Flip3DOp>(spec.probability);
}

Result<OpPtr> make_op(const RandomRot90&) { return std::make_unique<Rot90Op>(); }

}  // namespace penstock
