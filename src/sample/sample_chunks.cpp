// The part of a SampleWorker that makes chunked fields: where their elements go, and what is done to
// those that cannot go there at once.
#include <cstdlib>
#include <utility>

#include "sample/sample_worker.h"
#include "transform/write_slot.h"

namespace penstock {

Status SampleWorker::make_chunked(std::uint64_t position, std::uint64_t sample, const Target& target) {
  const auto open = open_own(position, sample, target);
  if (!open) return std::unexpected(open.error());
  const SampleBoxes& boxes = (*open)->boxes;
  const Status filled = chunks_->fill(position, boxes);
  if (!filled) {
    where_ = chunks_->where();
    return filled;
  }
  for (std::size_t i = 0; i < chunked_fields_.size(); ++i) {
    if (boxes.targets[i].is_in_slot) continue;
    const std::size_t field = chunked_fields_[i];
    const auto source_field = static_cast<std::size_t>(plan_.fields[field].source_field);
    const ArrayLayout& layout = *plan_.source->array_layout(source_field);
    View view = view_of_array(boxes.targets[i].memory, layout.spec);
    describe_axes(view, layout);
    context_.draws.select_view(plan_.fields[field].view);
    PENSTOCK_CHECK(plan_.fields[field].program.run(view, context_));
    clock_.mark(Stage::kTransform, 0, 1);
    PENSTOCK_CHECK(hand_on(field, 0, view, target));
  }
  return {};
}

Result<OpenSamplePtr> SampleWorker::open_own(std::uint64_t position, std::uint64_t sample, const Target& target) {
  const bool is_seen = target.batch != nullptr && shared_.lookahead != nullptr;
  if (is_seen)
    if (OpenSamplePtr open = shared_.lookahead->decoded_chunks().open(shared_.lookahead->use_at(position), nullptr)) {
      own_ = open;
      return open;
    }
  if (!own_ || own_.use_count() > 1 || own_->memory) own_ = std::make_shared<OpenSample>();
  own_->arrived.clear();
  const Room scratch = [this](std::size_t bytes) -> Result<std::byte*> {
    const auto memory = scratch_.get(kScratchSample, bytes);
    if (!memory) return std::unexpected(memory.error());
    return memory->data();
  };
  PENSTOCK_CHECK(aim(sample, target, scratch, own_->boxes));
  if (is_seen) own_ = shared_.lookahead->decoded_chunks().open(shared_.lookahead->use_at(position), own_);
  return own_;
}

OpenSamplePtr SampleWorker::open_other(const SampleUse& use) {
  if (batch_ == nullptr) return nullptr;
  const auto place = shared_.lookahead->find_open(use);
  if (!place) return nullptr;
  auto open = std::make_shared<OpenSample>();
  const BatchTarget batch{batch_->layout, place->contents(), batch_->room};
  const Room area = [&](std::size_t bytes) -> Result<std::byte*> {
    open->memory = AreaMemory(shared_.lookahead->open_area(), bytes);
    if (!open->memory) return fail(ErrorCode::kNoMemory, "no memory for another sample");
    return open->memory.data();
  };
  const Draws own = std::exchange(context_.draws, Draws(plan_.seed, epoch_, place->position()));
  const Status aimed = aim(place->sample(), {&batch, place->index(), nullptr, nullptr}, area, open->boxes);
  context_.draws = own;
  return aimed ? open : nullptr;
}

Status SampleWorker::aim(std::uint64_t sample, const Target& target, const Room& room, SampleBoxes& out) {
  const auto rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  out.targets.assign(chunked_fields_.size(), {});
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < chunked_fields_.size(); ++i) {
    const FieldPlan& plan = plan_.fields[chunked_fields_[i]];
    const ArrayLayout& layout = *plan_.source->array_layout(static_cast<std::size_t>(plan.source_field));
    const auto in_slot = aim_at_slot(chunked_fields_[i], layout, target, out.targets[i]);
    if (!in_slot) return std::unexpected(in_slot.error());
    out.targets[i].is_in_slot = *in_slot;
    if (!*in_slot) bytes += rounded(layout.spec.bytes());
  }
  if (bytes > 0) {
    const auto memory = room(bytes);
    if (!memory) return std::unexpected(memory.error());
    std::byte* next = *memory;
    for (std::size_t i = 0; i < chunked_fields_.size(); ++i) {
      if (out.targets[i].is_in_slot) continue;
      const FieldPlan& plan = plan_.fields[chunked_fields_[i]];
      const ArraySpec& stored = plan_.source->array_layout(static_cast<std::size_t>(plan.source_field))->spec;
      const View view = view_of_array(next, stored);
      out.targets[i] = {static_cast<std::size_t>(plan.source_field), stored.dtype, view.rank, view.shape, next,
                        view.stride, {}, false};
      next += rounded(stored.bytes());
    }
  }
  out.find(*plan_.source, sample);
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
