// RandomRot90 rotates an image by exchanging and negating strides, without moving a pixel. A mask is rotated in the
// same way.
#include <utility>

#include "transform/ops/op_table.h"
#include "transform/ops/spatial_axes.h"

namespace penstock {
namespace {

struct Rot90Plan {
  int quarter_turns = 0;  // counter-clockwise
};

class Rot90Op final : public PixelOp {
 public:
  bool only_changes_view() const override { return true; }
  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }

  OpPlan plan(std::optional<ImageSize>, Draws& draws) const override {
    return OpPlan::of(Rot90Plan{static_cast<int>(draws.below(4))});
  }

  Status apply(View& view, const OpPlan& plan, Workspace&) const override {
    const std::vector<int> axes = axes_in_space(view, 2);
    if (axes.size() < 2)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("RandomRot90 needs two axes in space; the value has shape {}{}",
                              view.shape_vector(), describe_other_axes(view)));
    const int vertical = axes[0], horizontal = axes[1];
    const int turns = plan.as<Rot90Plan>().quarter_turns;
    if (turns >= 2) {
      view.flip(vertical);
      view.flip(horizontal);
    }
    if (turns % 2 == 1) {  // a quarter turn counter-clockwise, as in numpy.rot90
      const auto v = static_cast<std::size_t>(vertical), h = static_cast<std::size_t>(horizontal);
      view.flip(horizontal);
      std::swap(view.shape[v], view.shape[h]);
      std::swap(view.stride[v], view.stride[h]);
    }
    return {};
  }

  std::optional<ImageSize> size_after(std::optional<ImageSize> before) const override {
    return before && before->height == before->width ? before : std::nullopt;
  }

  std::optional<ImageSize> planned_size_after(std::optional<ImageSize> before, const OpPlan& plan) const override {
    if (before && plan.as<Rot90Plan>().quarter_turns % 2 == 1) std::swap(before->height, before->width);
    return before;
  }
};

}  // namespace

Result<OpPtr> make_op(const RandomRot90&, FieldKind) { return std::make_unique<Rot90Op>(); }

}  // namespace penstock
