// The part of a SampleWorker that makes chunked fields: where their elements go, and what is done to
// those that cannot go there at once.
#include <cstdlib>

#include "pipeline/sample_worker.h"
#include "transform/write_slot.h"

namespace penstock {

Status SampleWorker::make_chunked(std::uint64_t position, std::uint64_t sample, const Target& target) {
  chunk_targets_.clear();
  std::vector<bool> is_in_place(chunked_fields_.size());
  std::size_t scratch_bytes = 0;
  for (std::size_t i = 0; i < chunked_fields_.size(); ++i) {
    const FieldPlan& plan = plan_.fields[chunked_fields_[i]];
    const ArrayLayout& layout = *plan_.source->array_layout(static_cast<std::size_t>(plan.source_field));
    const ArraySpec& stored = layout.spec;
    ChunkTarget& aim = chunk_targets_.emplace_back();
    const auto in_place = aim_at_slot(chunked_fields_[i], layout, target, aim);
    if (!in_place) return std::unexpected(in_place.error());
    is_in_place[i] = *in_place;
    if (!*in_place) scratch_bytes += (stored.bytes() + 63) / 64 * 64;
  }
  std::byte* next = nullptr;
  if (scratch_bytes > 0) {
    const auto memory = scratch_.get(kScratchSample, scratch_bytes);
    if (!memory) return std::unexpected(memory.error());
    next = memory->data();
  }
  std::vector<View> views(chunked_fields_.size());
  for (std::size_t i = 0; i < chunked_fields_.size(); ++i) {
    if (is_in_place[i]) continue;
    const FieldPlan& plan = plan_.fields[chunked_fields_[i]];
    const ArrayLayout& layout = *plan_.source->array_layout(static_cast<std::size_t>(plan.source_field));
    const ArraySpec& stored = layout.spec;
    views[i] = view_of_array(next, stored);
    describe_axes(views[i], layout);
    ChunkTarget& aim = chunk_targets_[i];
    aim = {static_cast<std::size_t>(plan.source_field),
           stored.dtype,
           views[i].rank,
           views[i].shape,
           next,
           views[i].stride,
           {}};
    next += (stored.bytes() + 63) / 64 * 64;
  }
  const Status filled = chunks_->fill(position, sample, chunk_targets_);
  if (!filled) {
    where_ = chunks_->where();
    return filled;
  }
  for (std::size_t i = 0; i < chunked_fields_.size(); ++i) {
    if (is_in_place[i]) continue;
    const std::size_t field = chunked_fields_[i];
    context_.draws.select_view(plan_.fields[field].view);
    PENSTOCK_CHECK(plan_.fields[field].program.run(views[i], context_));
    clock_.mark(Stage::kTransform, 0, 1);
    PENSTOCK_CHECK(hand_on(field, 0, views[i], target));
  }
  return {};
}

// Where nothing is done to the elements but flips, turns and one Normalize, they can go to their slot
// as they come: the transforms are run on a view of no memory to see where each belongs.
Result<bool> SampleWorker::aim_at_slot(std::size_t field, const ArrayLayout& stored, const Target& target,
                                       ChunkTarget& out) {
  const FieldPlan& plan = plan_.fields[field];
  if (target.batch == nullptr || !plan.is_delivered || !plan.program.only_changes_view()) return false;
  for (const FieldPlan& other : plan_.fields)
    if (other.derive_from == static_cast<int>(field)) return false;
  const SlotLayout& slots = target.batch->layout;
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  if (slots.placement(slot_field) != Placement::kSlot) return false;
  const ArraySpec& wanted = slots.field(slot_field).spec;
  const MutableBytes slot = slots.slot(target.batch->contents.block.data(), slot_field, target.index);
  View whole = view_of_array(slot.data(), stored.spec);
  describe_axes(whole, stored);
  View seen = whole;
  const Draws draws = context_.draws;
  context_.draws.select_view(plan.view);
  PENSTOCK_CHECK(plan.program.run(seen, context_));
  const View slot_view = view_of_array(slot.data(), wanted);
  if (plan.program.spec_of(seen) != wanted ||
      !can_convert(seen.affine.scale ? DType::kFloat32 : seen.dtype, wanted.dtype)) {
    context_.draws = draws;  // the long way says what is wrong
    return false;
  }
  out.field = static_cast<std::size_t>(plan.source_field);
  out.dtype = wanted.dtype;
  out.rank = whole.rank;
  out.extent = whole.shape;
  out.memory = slot.data();
  out.affine = seen.affine;
  for (std::size_t b = 0; b < static_cast<std::size_t>(seen.rank); ++b) {
    if (seen.shape[b] == 1) continue;
    for (std::size_t a = 0; a < static_cast<std::size_t>(whole.rank); ++a) {
      if (whole.shape[a] == 1 || whole.stride[a] != std::abs(seen.stride[b])) continue;
      const bool is_flipped = seen.stride[b] < 0;
      out.stride[a] = is_flipped ? -slot_view.stride[b] : slot_view.stride[b];
      if (is_flipped) out.memory += (seen.shape[b] - 1) * slot_view.stride[b];
      if (seen.affine.axis == static_cast<int>(b)) {
        out.affine.axis = static_cast<int>(a);
        if (is_flipped) {
          context_.draws = draws;
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace penstock
