// RandomFlip3D flips the spatial axes of a volume by negating strides, without moving an element. A mask is flipped in
// the same way.
#include <array>

#include "transform/ops/checks.h"
#include "transform/ops/op_table.h"
#include "transform/ops/spatial_axes.h"

namespace penstock {
namespace {

struct Flip3DPlan {
  std::array<bool, 3> flips{};  // for the last three spatial axes, in their order
};

class Flip3DOp final : public PixelOp {
 public:
  explicit Flip3DOp(double probability) : probability_(probability) {}

  bool only_changes_view() const override { return true; }
  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }

  OpPlan plan(std::optional<ImageSize>, Draws& draws) const override {
    Flip3DPlan plan;
    for (bool& flips : plan.flips) flips = draws.chance(probability_);
    return OpPlan::of(plan);
  }

  Status apply(View& view, const OpPlan& plan, Workspace&) const override {
    const std::vector<int> axes = axes_in_space(view, 3);
    if (axes.size() < 3)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("RandomFlip3D needs three axes in space; the value has shape {}{}",
                              view.shape_vector(), describe_other_axes(view)));
    const auto [flips] = plan.as<Flip3DPlan>();
    for (std::size_t i = 0; i < flips.size(); ++i)
      if (flips[i]) view.flip(axes[i]);
    return {};
  }

 private:
  double probability_;
};

}  // namespace

Result<OpPtr> make_op(const RandomFlip3D& spec, FieldKind) {
  PENSTOCK_CHECK(check_probability("RandomFlip3D", spec.probability));
  return std::make_unique<Flip3DOp>(spec.probability);
}

}  // namespace penstock
