// Map calls the user's own function in the middle of the pipeline.
#include <fmt/format.h>

#include <algorithm>

#include "transform/map_result.h"
#include "transform/ops/op_table.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

class MapOp final : public PixelOp {
 public:
  explicit MapOp(const Map& spec) : function_(spec.function) {}

  std::optional<std::uint64_t> fixed_fingerprint(std::uint64_t) const override { return std::nullopt; }
  TypeEffect type_effect() const override { return TypeEffect::kUnknown; }

  // The function has a generator of its own, which is seeded with the names of the draws.
  OpPlan plan(std::optional<ImageSize>, Draws& draws) const override {
    const Draws::Key key = draws.key();
    return OpPlan::of(MapDraws{key.seed, key.epoch, key.position, key.stream});
  }

  Status apply(View& view, const OpPlan& plan, Workspace& workspace) const override {
    // The function gets a plain C-ordered array, to which any pending Normalize was applied.
    const DType dtype = view.affine.scale != nullptr ? DType::kFloat32 : view.dtype;
    const ArraySpec spec{dtype, view.shape_vector()};
    int buffer = -1;
    const auto memory = workspace.pixels_beside(view, std::max<std::size_t>(spec.bytes(), 1), buffer);
    if (!memory) return std::unexpected(memory.error());
    copy_view(view, memory->data(), view_of_array(memory->data(), spec));
    std::vector<MapValue> given(1);
    given[0].array = {spec, {std::shared_ptr<const void>(), memory->data()}};  // borrowed for the call
    auto result = (*function_)(std::move(given), plan.as<MapDraws>());
    if (!result) return std::unexpected(std::move(result).error());
    if (result->size() != 1 || result->front().kind != MapValue::Kind::kArray)
      return fail(ErrorCode::kCallback, "Map must return an array of numbers");
    const OwnedArray& array = result->front().array;
    PENSTOCK_CHECK(charge_map_result(result->front(), workspace.scratch));
    const auto seen = view_of_map_result(array, view);
    if (!seen) return std::unexpected(seen.error());
    workspace.held = array.data;
    view = *seen;
    return {};
  }

  std::optional<ImageSize> size_after(std::optional<ImageSize>) const override { return std::nullopt; }

 private:
  const std::shared_ptr<const Map::Function> function_;
};

}  // namespace

Map Map::of_array(std::function<Result<OwnedArray>(const ArraySpec& spec, const void* data)> function) {
  return {std::make_shared<const Function>(
      [function = std::move(function)](std::vector<MapValue> values,
                                       const MapDraws&) -> Result<std::vector<MapValue>> {
        for (MapValue& value : values) {
          auto made = function(value.array.spec, value.array.data.get());
          if (!made) return std::unexpected(std::move(made).error());
          value.array = std::move(*made);
        }
        return values;
      })};
}

Status charge_map_result(const MapValue& value, Scratch& scratch) {
  const std::uint64_t bytes =
      value.kind == MapValue::Kind::kArray ? value.array.spec.bytes() : value.text.size();
  auto charged = scratch.charge(bytes);
  if (!charged)
    charged.error().message = fmt::format("Map returned {} bytes: {}", bytes, charged.error().message);
  return charged;
}

Result<View> view_of_map_result(const OwnedArray& array, const View& before) {
  if (array.spec.shape.size() > kMaxRank)
    return fail(ErrorCode::kShapeMismatch, "Map returned an array of more than 8 axes");
  View view = view_of_array(static_cast<const std::byte*>(array.data.get()), array.spec);
  view.is_image = before.is_image && view.rank == 3 && view.channels() <= 4;
  if (array.spec.shape == before.shape_vector()) keep_axes(view, before);
  return view;
}

Result<OpPtr> make_op(const Map& spec, FieldKind) {
  if (!spec.function || !*spec.function) return fail(ErrorCode::kInvalidArgument, "Map without a function");
  return std::make_unique<MapOp>(spec);
}

}  // namespace penstock
