// The part of a SampleWorker that runs Maps over several fields: the fields' values wait until all of them
// are there, the function gets them at once, and each field goes on with what came back for it.
#include <fmt/format.h>

#include <algorithm>

#include "sample/sample_worker.h"
#include "transform/map_result.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr std::uint32_t kJointStep = 1u << 31;  // no step of a single field has such a number

MapValue::Kind map_kind(FieldKind kind) {
  return kind == FieldKind::kJson    ? MapValue::Kind::kJson
         : kind == FieldKind::kBytes ? MapValue::Kind::kBytes
                                     : MapValue::Kind::kText;
}

FieldKind field_kind(MapValue::Kind kind) {
  return kind == MapValue::Kind::kJson    ? FieldKind::kJson
         : kind == MapValue::Kind::kBytes ? FieldKind::kBytes
                                          : FieldKind::kText;
}

}  // namespace

Status SampleWorker::hand_on_text(std::size_t field, std::string_view text, const Target& target) {
  const FieldPlan& plan = plan_.fields[field];
  if (plan.joint_maps.empty()) return deliver_text(field, plan.kind, text, target);
  PENSTOCK_CHECK(scratch_.charge(text.size()));
  put_aside_[field] = {{map_kind(plan.kind), {}, std::string(text)}, {}};
  return {};
}

// In memory of its own: the scratch buffers are used again for the next field, and the function may keep
// what it gets.
Status SampleWorker::put_aside(std::size_t field, const View& value) {
  const DType dtype = value.affine.scale != nullptr ? DType::kFloat32 : value.dtype;
  const ArraySpec spec{dtype, value.shape_vector()};
  const std::size_t bytes = std::max<std::size_t>(spec.bytes(), 1);
  PENSTOCK_CHECK(scratch_.charge(bytes));
  const auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
  copy_view(value, memory.get(), view_of_array(memory.get(), spec));
  put_aside_[field] = {{MapValue::Kind::kArray, {spec, {memory, memory.get()}}, {}}, value};
  return {};
}

Status SampleWorker::run_joint_maps(const Target& target) {
  for (std::size_t number = 0; number < plan_.joint_maps.size(); ++number) {
    const JointMap& map = plan_.joint_maps[number];
    std::vector<MapValue> values;
    for (const std::size_t field : map.fields) values.push_back(std::move(put_aside_[field].value));
    const Draws::Key key = context_.draws.key();
    const MapDraws draws{key.seed, key.epoch, key.position, kJointStep | static_cast<std::uint32_t>(number)};
    auto returned = (*map.function)(std::move(values), draws);
    if (!returned) return std::unexpected(std::move(returned).error());
    if (returned->size() != map.fields.size())
      return fail(ErrorCode::kCallback,
                  fmt::format("Map returned {} values for {} fields", returned->size(), map.fields.size()));
    clock_.mark(Stage::kTransform, 0, 0);
    for (const MapValue& value : *returned) PENSTOCK_CHECK(charge_map_result(value, scratch_));
    for (std::size_t i = 0; i < map.fields.size(); ++i)
      PENSTOCK_CHECK(go_on_after(number, map.fields[i], std::move((*returned)[i]), target));
  }
  return {};
}

Status SampleWorker::go_on_after(std::size_t joint_map, std::size_t field, MapValue value,
                                 const Target& target) {
  const FieldPlan& plan = plan_.fields[field];
  const auto part =
      static_cast<std::size_t>(std::ranges::find(plan.joint_maps, joint_map) - plan.joint_maps.begin()) + 1;
  if (value.kind == MapValue::Kind::kArray) {
    auto view = view_of_map_result(value.array, put_aside_[field].before);
    if (!view) return std::unexpected(std::move(view).error());
    context_.draws.select_view(plan.view);
    PENSTOCK_CHECK(plan.program.run_part(part, *view, context_));
    clock_.mark(Stage::kTransform, 0, 0);
    return hand_on(field, part, *view, target);
  }
  const bool is_parent = std::ranges::any_of(
      plan_.fields, [&](const FieldPlan& other) { return other.derive_from == static_cast<int>(field); });
  if (is_parent || plan.program.has_steps(part))
    return fail(ErrorCode::kShapeMismatch,
                fmt::format("Map returned {} for field \"{}\": transforms do not apply to it",
                            name_of(field_kind(value.kind)), plan.name));
  if (part == plan.joint_maps.size()) return deliver_text(field, field_kind(value.kind), value.text, target);
  put_aside_[field] = {std::move(value), {}};
  return {};
}

}  // namespace penstock
