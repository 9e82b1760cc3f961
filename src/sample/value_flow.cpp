#include "sample/value_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/memory/memory_block.h"
#include "transform/map_result.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr std::uint32_t kJointStep = 1u << 31;  // larger than the number of any step of a single field

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

ValueFlow::ValueFlow(const SamplePlan& plan, Context& context, Delivery& delivery)
    : plan_(plan),
      context_(context),
      delivery_(delivery),
      waiting_(plan.joint_maps.empty() ? 0 : plan.fields.size()) {}

void ValueFlow::end_sample() {
  for (Waiting& waiting : waiting_) waiting = {};
}

Status ValueFlow::take_after(std::size_t part, std::size_t field, const View& value) {
  if (part < plan_.fields[field].joint_maps.size()) return wait_for_map(field, value);
  PENSTOCK_CHECK(delivery_.deliver(field, value));
  return derive_from(field, value);
}

Status ValueFlow::take_text(std::size_t field, std::string_view text) {
  const FieldPlan& plan = plan_.fields[field];
  if (plan.joint_maps.empty()) return delivery_.deliver_text(field, plan.kind, text);
  PENSTOCK_CHECK(context_.scratch.charge(text.size()));
  waiting_[field] = {{map_kind(plan.kind), {}, std::string(text)}, {}};
  return {};
}

Status ValueFlow::derive_from(std::size_t parent, const View& value) {
  for (std::size_t field = parent + 1; field < plan_.fields.size(); ++field) {
    if (plan_.fields[field].derive_from != static_cast<int>(parent)) continue;
    context_.keep_buffer = value.buffer;
    const auto held = context_.held;  // keeps the value alive, because a Map below may replace context_.held
    View derived = value;
    PENSTOCK_CHECK(plan_.fields[field].program.run(derived, context_));
    context_.clock.mark(Stage::kTransform, 0, 0);
    PENSTOCK_CHECK(take(field, derived));
    context_.held = held;
    context_.keep_buffer = -1;
  }
  return {};
}

// Copies the value to memory of its own, because the next field uses the scratch buffers again, and because the user's
// function may keep the array that it receives.
Status ValueFlow::wait_for_map(std::size_t field, const View& value) {
  const DType dtype = value.affine.scale != nullptr ? DType::kFloat32 : value.dtype;
  const ArraySpec spec{dtype, value.shape_vector()};
  const std::size_t bytes = std::max<std::size_t>(spec.bytes(), 1);
  PENSTOCK_CHECK(context_.scratch.charge(bytes));
  const auto memory = std::make_shared<const MemoryBlock>(MemoryBlock::allocate(bytes, heap_allocator()));
  if (memory->size() == 0) return fail(ErrorCode::kNoMemory, "the system has no memory left");
  copy_view(value, memory->data(), view_of_array(memory->data(), spec));
  waiting_[field] = {{MapValue::Kind::kArray, {spec, {memory, memory->data()}}, {}}, value};
  return {};
}

Status ValueFlow::run_joint_maps() {
  for (std::size_t number = 0; number < plan_.joint_maps.size(); ++number) {
    const JointMap& map = plan_.joint_maps[number];
    std::vector<MapValue> values;
    for (const std::size_t field : map.fields) values.push_back(std::move(waiting_[field].value));
    const Draws::Key key = context_.draws.key();
    const MapDraws draws{key.seed, key.epoch, key.position, kJointStep | static_cast<std::uint32_t>(number)};
    auto returned = (*map.function)(std::move(values), draws);
    if (!returned) return std::unexpected(std::move(returned).error());
    if (returned->size() != map.fields.size())
      return fail(ErrorCode::kCallback,
                  fmt::format("Map returned {} values for {} fields", returned->size(), map.fields.size()));
    context_.clock.mark(Stage::kTransform, 0, 0);
    for (const MapValue& value : *returned) PENSTOCK_CHECK(charge_map_result(value, context_.scratch));
    for (std::size_t i = 0; i < map.fields.size(); ++i)
      PENSTOCK_CHECK(continue_after(number, map.fields[i], std::move((*returned)[i])));
  }
  return {};
}

// Continues the field with the value that the Map returned for it.
Status ValueFlow::continue_after(std::size_t joint_map, std::size_t field, MapValue value) {
  const FieldPlan& plan = plan_.fields[field];
  const auto part =
      static_cast<std::size_t>(std::ranges::find(plan.joint_maps, joint_map) - plan.joint_maps.begin()) + 1;
  if (value.kind == MapValue::Kind::kArray) {
    auto view = view_of_map_result(value.array, waiting_[field].before);
    if (!view) return std::unexpected(std::move(view).error());
    context_.draws.select_view(plan.view);
    PENSTOCK_CHECK(plan.program.run_part(part, *view, context_));
    context_.clock.mark(Stage::kTransform, 0, 0);
    return take_after(part, field, *view);
  }
  const bool is_parent = std::ranges::any_of(
      plan_.fields, [&](const FieldPlan& other) { return other.derive_from == static_cast<int>(field); });
  if (is_parent || plan.program.has_steps(part))
    return fail(ErrorCode::kShapeMismatch,
                fmt::format("Map returned {} for field \"{}\": transforms do not apply to it",
                            name_of(field_kind(value.kind)), plan.name));
  if (part == plan.joint_maps.size())
    return delivery_.deliver_text(field, field_kind(value.kind), value.text);
  waiting_[field] = {std::move(value), {}};
  return {};
}

}  // namespace penstock
