#include "sample/fields/chunked_fields.h"

#include <cstdlib>
#include <utility>

#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

ChunkedFields::ChunkedFields(const FieldSetup& setup, std::vector<std::size_t> fields, ScratchBudget& budget)
    : setup_(setup),
      fields_(std::move(fields)),
      assembler_(*setup.plan.source, budget, setup.context.clock, setup.cache) {
  assembler_.open_others_by([this](const SampleUse& use) { return open_other(use); });
}

void ChunkedFields::turn_to(const SharedReads& shared) {
  lookahead_ = shared.lookahead;
  assembler_.turn_to(shared);
}

void ChunkedFields::end_sample() {
  if (own_ && own_->memory) own_.reset();  // releases the memory for other samples in the making
}

const ArrayLayout& ChunkedFields::stored_layout(std::size_t field) const {
  return *setup_.plan.source->array_layout(static_cast<std::size_t>(setup_.plan.fields[field].source_field));
}

Status ChunkedFields::make(const SampleTask& task) {
  task_ = task;
  const auto open = open_own(task);
  if (!open) return std::unexpected(open.error());
  const SampleBoxes& boxes = (*open)->boxes;
  if (Status filled = assembler_.fill(task.position, boxes); !filled) {
    setup_.origin.where = assembler_.where();
    return filled;
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (boxes.targets[i].is_in_slot) continue;
    const FieldPlan& plan = setup_.plan.fields[fields_[i]];
    const ArrayLayout& layout = stored_layout(fields_[i]);
    View view = view_of_array(boxes.targets[i].memory, layout.spec);
    describe_axes(view, layout);
    setup_.context.draws.select_view(plan.view);
    PENSTOCK_CHECK(plan.program.run(view, setup_.context));
    setup_.context.clock.mark(Stage::kTransform, 0, 1);
    PENSTOCK_CHECK(setup_.flow.take(fields_[i], view));
  }
  return {};
}

Status ChunkedFields::measure(const SampleTask& task, UnitCost& cost) {
  const auto measured = assembler_.measure_first(task.sample, stored_fields(setup_.plan));
  if (!measured) return std::unexpected(measured.error());
  cost = *measured;
  return {};
}

Result<OpenSamplePtr> ChunkedFields::open_own(const SampleTask& task) {
  const SampleTarget& target = setup_.flow.delivery().target();
  const bool is_seen = target.batch != nullptr && lookahead_ != nullptr;
  if (is_seen)
    if (OpenSamplePtr open = lookahead_->decoded_chunks().open(lookahead_->use_at(task.position), nullptr)) {
      own_ = open;
      return open;
    }
  if (!own_ || own_.use_count() > 1 || own_->memory) own_ = std::make_shared<OpenSample>();
  const Allocate scratch = [this](std::size_t bytes) -> Result<std::byte*> {
    const auto memory = setup_.context.scratch.get(kScratchSample, bytes);
    if (!memory) return std::unexpected(memory.error());
    return memory->data();
  };
  PENSTOCK_CHECK(aim(task.sample, target, scratch, own_->boxes));
  if (is_seen) own_ = lookahead_->decoded_chunks().open(lookahead_->use_at(task.position), own_);
  return own_;
}

OpenSamplePtr ChunkedFields::open_other(const SampleUse& use) {
  const BatchTarget* const own = setup_.flow.delivery().target().batch;
  if (own == nullptr) return nullptr;
  const auto place = lookahead_->find_open(use);
  if (!place) return nullptr;
  auto open = std::make_shared<OpenSample>();
  const BatchTarget batch{own->layout, place->contents(), own->variable};
  const Allocate area = [&](std::size_t bytes) -> Result<std::byte*> {
    open->memory = AreaMemory(lookahead_->open_area(), bytes);
    if (!open->memory) return fail(ErrorCode::kNoMemory, "no memory for another sample");
    return open->memory.data();
  };
  const Draws draws = std::exchange(setup_.context.draws,
                                    Draws(setup_.plan.seed, task_.epoch, place->position()));
  const Status aimed = aim(place->sample(), {&batch, place->index()}, area, open->boxes);
  setup_.context.draws = draws;
  return aimed ? open : nullptr;
}

Status ChunkedFields::aim(std::uint64_t sample, const SampleTarget& target, const Allocate& allocate,
                          SampleBoxes& out) {
  out.targets.assign(fields_.size(), {});
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const auto in_slot = aim_at_slot(fields_[i], target, out.targets[i]);
    if (!in_slot) return std::unexpected(in_slot.error());
    out.targets[i].is_in_slot = *in_slot;
    if (!*in_slot) bytes += aligned(stored_layout(fields_[i]).spec.bytes());
  }
  if (bytes > 0) {
    const auto memory = allocate(bytes);
    if (!memory) return std::unexpected(memory.error());
    std::byte* next = *memory;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (out.targets[i].is_in_slot) continue;
      const ArraySpec& stored = stored_layout(fields_[i]).spec;
      const View view = view_of_array(next, stored);
      out.targets[i] = {static_cast<std::size_t>(setup_.plan.fields[fields_[i]].source_field),
                        stored.dtype,
                        view.rank,
                        view.shape,
                        next,
                        view.stride,
                        {},
                        false};
      next += aligned(stored.bytes());
    }
  }
  out.find(*setup_.plan.source, sample);
  return {};
}

// Runs the transforms on a view without memory, to find out where each element belongs.
Result<bool> ChunkedFields::aim_at_slot(std::size_t field, const SampleTarget& target, ChunkTarget& out) {
  const FieldPlan& plan = setup_.plan.fields[field];
  if (!plan.program.only_changes_view()) return false;
  const auto slot = setup_.flow.delivery().direct_slot(field, target);
  if (!slot) return false;
  const ArrayLayout& stored = stored_layout(field);
  View whole = view_of_array(slot->bytes.data(), stored.spec);
  describe_axes(whole, stored);
  View seen = whole;
  Context& context = setup_.context;
  const Draws draws = context.draws;
  context.draws.select_view(plan.view);
  PENSTOCK_CHECK(plan.program.run(seen, context));
  const View slot_view = view_of_array(slot->bytes.data(), slot->spec);
  if (plan.program.spec_of(seen) != slot->spec ||
      !can_convert(seen.affine.scale ? DType::kFloat32 : seen.dtype, slot->spec.dtype)) {
    context.draws = draws;  // the usual delivery draws again and reports the error
    return false;
  }
  out.field = static_cast<std::size_t>(plan.source_field);
  out.dtype = slot->spec.dtype;
  out.rank = whole.rank;
  out.extent = whole.shape;
  out.memory = slot->bytes.data();
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
          context.draws = draws;
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace penstock
