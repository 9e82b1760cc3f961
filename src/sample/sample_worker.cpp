#include "sample/sample_worker.h"

#include <algorithm>
#include <new>
#include <span>

#include "cache/shared/mapping_guard.h"

namespace penstock {

SampleWorker::SampleWorker(const SamplePlan& plan, ScratchBudget& budget, WorkerCounters& counters,
                           const SharedReads& shared)
    : plan_(plan),
      is_cached_(shared.cache != nullptr),
      scratch_(budget),
      clock_(counters),
      context_(scratch_, clock_),
      bytes_(plan, scratch_, clock_, origin_, shared.cache),
      delivery_(plan, clock_),
      flow_(plan, context_, delivery_) {
  const FieldSetup setup{plan, context_, decoder_, bytes_, origin_, flow_, shared.cache};
  std::vector<std::size_t> chunked;
  for (std::size_t field = 0; field < plan.fields.size(); ++field) {
    makers_.push_back(make_field_maker(setup, field));
    if (plan.fields[field].is_chunked()) chunked.push_back(field);
  }
  if (!chunked.empty()) chunked_ = std::make_unique<ChunkedFields>(setup, std::move(chunked), budget);
  turn_to(shared);
}

void SampleWorker::turn_to(const SharedReads& shared) {
  lookahead_ = shared.lookahead;
  bytes_.turn_to(shared);
  if (chunked_) chunked_->turn_to(shared);
  for (const auto& maker : makers_)
    if (maker) maker->turn_to(shared);
}

Result<SampleMaker::Outcome> SampleWorker::make(const SampleTask& task, const BatchTarget& batch,
                                                std::uint64_t index, Deferral&) {
  if (lookahead_ != nullptr) lookahead_->extend();
  Status made = make_sample(task, {&batch, index});
  if (made) return Outcome::kMade;
  delivery_.withdraw();
  if (delivery_.is_too_early()) return Outcome::kTooEarly;
  return std::unexpected(std::move(made).error());
}

Result<std::vector<MeasuredField>> SampleWorker::measure(std::uint64_t sample) {
  std::vector<MeasuredField> measured(plan_.fields.size());
  PENSTOCK_CHECK(make_sample({0, 0, sample}, {.measured = &measured}));
  return measured;
}

Status SampleWorker::look_at(std::uint64_t sample, const LookAtField& look) {
  if (lookahead_ != nullptr) lookahead_->extend();
  return make_sample({0, sample, sample}, {.look = &look});
}

Status SampleWorker::make_sample(const SampleTask& task, const SampleTarget& target) {
  clock_.start();
  // Draws differ from sample to sample only in batches. Measurements and visitors use those of position 0.
  context_.draws = Draws(plan_.seed, task.epoch, target.batch != nullptr ? task.position : 0);
  delivery_.begin(target);
  if (chunked_) chunked_->begin_sample();
  Status status;
  const std::uint64_t lost = lost_mappings();
  try {
    status = make_fields(task);
  } catch (const std::bad_alloc&) {  // thrown by the standard library; our own memory is reserved in the ledger
    status = fail(ErrorCode::kNoMemory, "the system has no memory left");
  }
  if (is_cached_ && lost != lost_mappings())
    status = fail(ErrorCode::kChanged, "the memory of the cache was cut short while the sample was made from it");
  if (lookahead_ != nullptr)
    lookahead_->finish(task.position, chunked_ ? chunked_->chunks() : std::span<const ChunkId>{});
  end_sample();
  if (!status) {
    // Codecs and transforms do not know the origin of their bytes, so it is added here.
    Where& where = status.error().where;
    if (where.uri.empty()) where.uri = origin_.where.uri;
    if (where.offset < 0) where.offset = origin_.where.offset;
    if (where.length < 0) where.length = origin_.where.length;
    where.sample = static_cast<std::int64_t>(task.sample);
  }
  return status;
}

Status SampleWorker::make_fields(const SampleTask& task) {
  origin_.where = source_itself();
  if (chunked_) PENSTOCK_CHECK(chunked_->make(task));
  for (std::size_t field = 0; field < makers_.size(); ++field) {
    if (!makers_[field]) continue;
    origin_.where = source_itself();
    context_.draws.select_view(plan_.fields[field].view);
    PENSTOCK_CHECK(makers_[field]->make(task));
  }
  if (plan_.joint_maps.empty()) return {};
  origin_.where = source_itself();
  return flow_.run_joint_maps();
}

void SampleWorker::end_sample() {
  bytes_.end_sample();
  if (chunked_) chunked_->end_sample();
  for (const auto& maker : makers_)
    if (maker) maker->end_sample();
  flow_.end_sample();
  context_.held.reset();
  context_.picture.reset();
  context_.keep_buffer = -1;
  scratch_.end_sample();
}

Result<UnitCost> SampleWorker::measure_unit(std::uint64_t sample) {
  const SampleTask task{0, 0, sample};
  UnitCost total;
  Status status;
  if (chunked_) {
    status = chunked_->measure(task, total);
    end_sample();
    if (!status) return std::unexpected(status.error());
    return total;
  }
  for (std::size_t field = 0; field < makers_.size() && status; ++field) {
    const FieldPlan& plan = plan_.fields[field];
    if (!makers_[field]) continue;
    // Views of one stored field are read once, and share a cache entry if their first steps are equal.
    const std::span before(plan_.fields.data(), field);
    const auto is_view = [&](const FieldPlan& other) {
      return plan.source_field >= 0 && other.source_field == plan.source_field;
    };
    if (std::ranges::any_of(before, [&](const FieldPlan& other) {
          return is_view(other) && other.program.fixed_fingerprint() == plan.program.fixed_fingerprint();
        }))
      continue;
    UnitCost cost;
    status = makers_[field]->measure(task, cost);
    const bool is_read = std::ranges::any_of(before, is_view);
    total.read_seconds += is_read ? 0 : cost.read_seconds;
    total.encoded_bytes += is_read ? 0 : cost.encoded_bytes;
    total.decode_seconds += cost.decode_seconds;
    total.decoded_bytes += cost.decoded_bytes;
  }
  end_sample();
  if (!status) return std::unexpected(status.error());
  return total;
}

}  // namespace penstock
