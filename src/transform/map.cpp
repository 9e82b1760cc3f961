// Map: the user's own function in the middle of the pipeline.
#include <algorithm>

#include "transform/op.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

class MapOp final : public Op {
 public:
  explicit MapOp(const Map& spec) : function_(spec.function) {}

  Status apply(View& view, Context& context) const override {
    // The function sees a plain C-ordered array, with any Normalize carried out.
    const DType dtype = view.affine.scale != nullptr ? DType::kFloat32 : view.dtype;
    const ArraySpec spec{dtype, view.shape_vector()};
    int buffer = -1;
    const auto memory = context.pixels_beside(view, std::max<std::size_t>(spec.bytes(), 1), buffer);
    if (!memory) return std::unexpected(memory.error());
    copy_view(view, memory->data(), view_of_array(memory->data(), spec));
    auto result = function_(spec, memory->data());
    if (!result) return std::unexpected(std::move(result).error());
    if (result->spec.shape.size() > kMaxRank)
      return fail(ErrorCode::kShapeMismatch, "Map returned an array of more than 8 axes");
    const bool was_image = view.is_image;
    context.held = std::move(result->data);
    view = view_of_array(static_cast<const std::byte*>(context.held.get()), result->spec);
    // What is still (H, W, C) stays an image, so that crops and layout go on working.
    view.is_image = was_image && view.rank == 3 && view.channels() <= 4;
    return {};
  }

  std::optional<FixedSize> size_after(std::optional<FixedSize>) const override { return std::nullopt; }

 private:
  std::function<Result<OwnedArray>(const ArraySpec&, const void*)> function_;
};

}  // namespace

Result<OpPtr> make_op(const Map& spec) {
  if (!spec.function) return fail(ErrorCode::kInvalidArgument, "Map without a function");
  return std::make_unique<MapOp>(spec);
}

}  // namespace penstock
