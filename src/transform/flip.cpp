// RandomHorizontalFlip, RandomVerticalFlip, RandomFlip3D and RandomRot90: the order in which
// pixels are computed or read changes, no pixel is moved for it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "transform/op.h"

namespace penstock {
namespace {

Status check_probability(const char* name, double probability) {
  if (probability >= 0 && probability <= 1) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} probability {}: wants 0 to 1", name, probability));
}

// ", of which axes [0] count channels or steps"; empty where all axes are in space.
std::string describe_other_axes(const View& view) {
  if (view.is_image) return ", an image";
  std::vector<int> others;
  for (int axis = 0; axis < view.rank; ++axis)
    if ((view.axes_not_in_space >> axis & 1) != 0) others.push_back(axis);
  return others.empty() ? "" : fmt::format(", of which axes {} count channels or steps", others);
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
    const std::vector<int> axes = axes_in_space(view, 3);
    if (axes.size() < 3)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("RandomFlip3D needs three axes in space; the value has shape {}{}",
                              view.shape_vector(), describe_other_axes(view)));
    for (const int axis : axes)
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
    const std::vector<int> axes = axes_in_space(view, 2);
    if (axes.size() < 2)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("RandomRot90 needs two axes in space; the value has shape {}{}",
                              view.shape_vector(), describe_other_axes(view)));
    const int vertical = axes[0], horizontal = axes[1];
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
