#include "sample/delivery.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace penstock {
namespace {

constexpr std::uint64_t kBytesPerText = 32;  // overhead in addition to its characters

bool is_text(FieldKind kind) { return kind >= FieldKind::kText; }

// The error of a Map that returned one kind of value for the first sample and another kind for this one.
Status other_kind(const FieldPlan& field, FieldKind wanted, FieldKind found) {
  return fail(ErrorCode::kShapeMismatch,
              fmt::format("Map returned {} for field \"{}\", where the batch has {}", name_of(found),
                          field.name, name_of(wanted)));
}

}  // namespace

void Delivery::begin(const SampleTarget& target) {
  target_ = target;
  reserved_ = 0;
  is_too_early_ = is_batch_too_large_ = false;
}

std::optional<Delivery::Slot> Delivery::direct_slot(std::size_t field, const SampleTarget& target) const {
  if (target.batch == nullptr || !plan_.fields[field].is_delivered) return std::nullopt;
  for (const FieldPlan& other : plan_.fields)
    if (other.derive_from == static_cast<int>(field)) return std::nullopt;
  const SlotLayout& layout = target.batch->layout;
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  if (layout.placement(slot_field) != Placement::kSlot) return std::nullopt;
  return Slot{layout.slot(target.batch->contents.block.data(), slot_field, target.index),
              layout.field(slot_field).spec};
}

Status Delivery::deliver(std::size_t field, const View& value) {
  const FieldPlan& plan = plan_.fields[field];
  const FieldKind kind = is_text(plan.kind) ? FieldKind::kArray : plan.kind;
  if (target_.measured != nullptr) (*target_.measured)[field] = {kind, plan.program.spec_of(value)};
  if (target_.look != nullptr) (*target_.look)({field, &value, {}});
  if (target_.batch == nullptr || !plan.is_delivered) return {};
  const SlotLayout& layout = target_.batch->layout;
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  if (layout.placement(slot_field) == Placement::kText)
    return other_kind(plan, layout.field(slot_field).kind, kind);
  if (layout.placement(slot_field) != Placement::kSlot) return deliver_part(field, value);
  const MutableBytes slot = layout.slot(target_.batch->contents.block.data(), slot_field, target_.index);
  PENSTOCK_CHECK(plan.program.store(value, layout.field(slot_field).spec, slot));
  clock_.mark(Stage::kCollate, slot.size(), plan.form == FieldForm::kIndex ? 0 : 1);
  return {};
}

Status Delivery::deliver_text(std::size_t field, FieldKind kind, std::string_view text) {
  if (target_.measured != nullptr) (*target_.measured)[field] = {kind, {}};
  if (target_.look != nullptr) (*target_.look)({field, nullptr, text});
  if (target_.batch == nullptr || !plan_.fields[field].is_delivered) return {};
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  const FieldKind wanted = target_.batch->layout.field(slot_field).kind;
  if (kind != wanted) return other_kind(plan_.fields[field], wanted, kind);
  PENSTOCK_CHECK(reserve(text.size() + kBytesPerText));
  target_.batch->contents.texts[slot_field][target_.index] = text;
  clock_.mark(Stage::kCollate, text.size(), 0);
  return {};
}

// Copies a value whose size differs from sample to sample to memory of its own, where it stays until the batch is
// complete.
Status Delivery::deliver_part(std::size_t field, const View& value) {
  const FieldPlan& plan = plan_.fields[field];
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  const SlotLayout& layout = target_.batch->layout;
  const ArraySpec& wanted = layout.field(slot_field).spec;
  Part part{plan.program.spec_of(value), {}};
  if (part.spec.dtype != wanted.dtype || part.spec.shape.size() != wanted.shape.size())
    return fail(ErrorCode::kShapeMismatch,
                fmt::format("sample is {} {}, the batch has {} with {} axes", name_of(part.spec.dtype),
                            part.spec.shape, name_of(wanted.dtype), wanted.shape.size()));
  const std::uint64_t bytes = part.spec.bytes();
  PENSTOCK_CHECK(reserve(bytes + kBytesPerPart));
  part.memory = MemoryBlock::allocate(std::max<std::uint64_t>(bytes, 1), target_.batch->variable.of_parts());
  if (part.memory.size() == 0) return fail(ErrorCode::kNoMemory, "the system has no memory left");
  PENSTOCK_CHECK(plan.program.store(value, part.spec, {part.memory.data(), bytes}));
  if (const int lengths = layout.lengths_of(slot_field); lengths >= 0) {
    const MutableBytes slot =
        layout.slot(target_.batch->contents.block.data(), static_cast<std::size_t>(lengths), target_.index);
    std::memcpy(slot.data(), part.spec.shape.data(), slot.size());
  }
  target_.batch->contents.parts[slot_field][target_.index] = std::move(part);
  clock_.mark(Stage::kCollate, bytes, 1);
  return {};
}

Status Delivery::reserve(std::uint64_t bytes) {
  VariableMemory& variable = target_.batch->variable;
  switch (variable.take(target_.batch->contents.variable, bytes)) {
    case VariableMemory::Answer::kYes: reserved_ += bytes; return {};
    case VariableMemory::Answer::kLater:
      is_too_early_ = true;
      return fail(ErrorCode::kNoMemory, "earlier batches hold the memory");
    case VariableMemory::Answer::kNever: break;
  }
  is_batch_too_large_ = true;
  return fail(ErrorCode::kNoMemory, variable.describe_too_large("a batch"));
}

void Delivery::withdraw() {
  BatchContents& contents = target_.batch->contents;
  for (auto& field : contents.texts)
    if (!field.empty()) field[target_.index] = {};
  for (auto& field : contents.parts)
    if (!field.empty()) field[target_.index] = {};
  target_.batch->variable.give_back(contents.variable, reserved_);
}

}  // namespace penstock
