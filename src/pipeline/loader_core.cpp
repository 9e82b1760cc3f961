#include "pipeline/loader_core.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/byte_units.h"
#include "fetch/content_fingerprint.h"
#include "pipeline/bottleneck.h"
#include "pipeline/hand_over.h"
#include "pipeline/order_plan.h"
#include "pipeline/state_check.h"

namespace penstock {
namespace {

constexpr std::size_t kErrorsListed = 100;

std::unexpected<Error> bad_option(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

std::vector<BatchField> fields_of(const SlotLayout& layout) {
  std::vector<BatchField> fields;
  for (std::size_t i = 0; i < layout.size(); ++i) fields.push_back(layout.field(i));
  return fields;
}

ChunkStats operator+(const ChunkStats& a, const ChunkStats& b) {
  return {a.decoded + b.decoded,
          a.reused + b.reused,
          a.missing + b.missing,
          a.decoded_bytes + b.decoded_bytes,
          a.distinct + b.distinct,
          a.distinct_bytes + b.distinct_bytes,
          std::max(a.memory_for_one_decode, b.memory_for_one_decode)};
}

}  // namespace

LoaderCore::LoaderCore(SourcePtr source, LoaderParts parts)
    : source_(std::move(source)),
      sample_fields_(fields_of(parts.layout)),
      options_(parts.options),
      order_(parts.order) {
  adopt(std::make_shared<Engine>(std::move(parts)));
}

// ---- engines

void LoaderCore::adopt(const std::shared_ptr<Engine>& engine) {
  engine_ = engine;
  ledger_ = engine->ledger;
  prefetch_ = engine->budget.prefetch;
  threads_ = engine->threads;
  tuning_ = engine->tuning;
  cache_form_ = !engine->cache                                        ? ""
                : engine->cache->form() == CacheForm::kDecoded ? "decoded"
                                                               : "encoded";
}

// Under `starting_`.
Result<std::shared_ptr<Engine>> LoaderCore::current_engine() {
  LoaderOptions options;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return bad_option("the loader is closed");
    if (engine_) return engine_;
    options = options_;
  }
  auto parts = plan_loader(source_, options);
  if (!parts) return std::unexpected(std::move(parts).error());
  auto engine = std::make_shared<Engine>(std::move(*parts));
  const std::lock_guard lock(mutex_);
  adopt(engine);
  return engine;
}

// Under `starting_`: afterwards no worker is left.
void LoaderCore::retire_engine() {
  std::shared_ptr<Engine> engine;
  {
    const std::lock_guard lock(mutex_);
    engine = engine_;
  }
  if (!engine) return;
  engine->scheduler.stop();
  const std::lock_guard lock(mutex_);
  workers_before_ += engine->scheduler.worker_stats();
  chunks_before_ = chunks_before_ + engine->chunk_stats();
  if (engine->cache) tiers_before_ = engine->cache->tiers();
  engine->cache.reset();  // its memory goes back to the node, unless others use it
  engine->options.cache.reset();
  engine->charge.reset();
  engine_.reset();
}

void LoaderCore::close() {
  std::vector<Ended> ended;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    ended = end_all_epochs("the loader is closed");
  }
  for (const Ended& each : ended) each.cancel();
  const std::lock_guard starting(starting_);
  retire_engine();
  const std::lock_guard lock(mutex_);
  options_.cache.reset();
}

// A worker that waits for its own loader waits for itself.
Status LoaderCore::check_not_inside_map(const char* what) const {
  const std::lock_guard lock(mutex_);
  if (!engine_ || !engine_->scheduler.runs_here()) return {};
  return bad_option(fmt::format("{} inside a Map of the same loader: the loader waits for the Map to end", what));
}

Status LoaderCore::set_ranks(std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks) {
  PENSTOCK_CHECK(check_not_inside_map("iter(loader)"));
  PENSTOCK_CHECK(check_ranks(rank, world_size));
  const std::lock_guard starting(starting_);
  std::vector<Ended> ended;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return bad_option("the loader is closed");
    if (rank == options_.rank && world_size == options_.world_size && local_ranks == options_.local_ranks)
      return {};
    options_.rank = rank;
    options_.world_size = world_size;
    options_.local_ranks = local_ranks;
    // The order of a state that was loaded stays what it was.
    if (order_.lengths && !loaded_bucket_run_) order_.bucket_run = options_.batch_size * world_size;
    ended = end_all_epochs(
        fmt::format("this iterator began before its process became rank {} of {}, and would deliver samples "
                    "of other ranks; begin a new one with iter(loader)",
                    rank, world_size));
  }
  for (const Ended& each : ended) each.cancel();
  retire_engine();
  return {};
}

Tuning LoaderCore::tune(const Tuning& wanted) {
  const std::lock_guard lock(mutex_);
  if (!engine_) return {};
  const Scheduler::Knobs now = engine_->scheduler.set_knobs({wanted.threads, wanted.prefetch});
  threads_ = now.threads;
  prefetch_ = now.prefetch;
  return {now.threads, now.prefetch};
}

// ---- epochs

Status LoaderCore::check_carries_one_more(const Engine& engine) const {
  const std::size_t running = engine.scheduler.epochs();
  if (running == 0 || running < engine.max_epochs()) return {};
  return fail(ErrorCode::kNoMemory,
              fmt::format("memory budget of {:.1f} MiB carries {} of this loader's iterators at one time, "
                          "and so many are under way; give memory= at least {} MiB for {}, or finish, close "
                          "or delete an iterator before the next begins",
                          static_cast<double>(engine.ledger->budget()) / kMiB, running,
                          engine.memory_for(running + 1) / kMiB + 1, running + 1));
}

Result<std::shared_ptr<EpochRecord>> LoaderCore::start_epoch() {
  PENSTOCK_CHECK(check_not_inside_map("iter(loader)"));
  const std::lock_guard starting(starting_);
  auto engine = current_engine();
  if (!engine) return std::unexpected(std::move(engine).error());
  PENSTOCK_CHECK(check_carries_one_more(**engine));
  std::uint64_t epoch = 0, position = 0;
  OrderSpec order;
  {
    const std::lock_guard lock(mutex_);
    epoch = next_epoch_;
    position = next_position_;
    order = order_;
  }
  std::shared_ptr<const EpochOrder> walk = make_epoch_order(order, epoch);
  RankSlice slice;
  {
    const std::lock_guard lock(mutex_);
    slice = slice_from(position, walk->size());
  }
  auto record = std::make_shared<EpochRecord>(EpochTask{epoch, std::move(walk), slice}, *engine);
  if ((*engine)->cache) (*engine)->cache->start_epoch(slice.samples());
  auto run = (*engine)->scheduler.start(record->task);
  if (!run) {
    Error error = std::move(run).error();
    const std::size_t running = (*engine)->scheduler.epochs();
    if (error.code == ErrorCode::kNoMemory && running > 0)
      error.message =
          fmt::format("memory budget of {:.1f} MiB cannot carry {} of this loader's iterators at one time; "
                      "give memory= at least {} MiB, or finish, close or delete the others first",
                      static_cast<double>((*engine)->ledger->budget()) / kMiB, running + 1,
                      (*engine)->memory_for(running + 1) / kMiB + 1);
    return std::unexpected(std::move(error));
  }
  const std::lock_guard lock(mutex_);
  record->run = std::move(*run);
  record->number = ++started_;
  next_epoch_ = epoch + 1;
  next_position_ = 0;
  is_moved_ = false;
  if (!last_ || last_->is_over) last_ = record;
  running_.push_back(record);
  return record;
}

// Books the end of an epoch, however it came.
LoaderCore::Ended LoaderCore::end_epoch(EpochRecord& record) {
  record.is_over = true;
  finished_.push_back(finished(record));
  std::erase_if(running_, [&](const auto& other) { return other.get() == &record; });
  return {std::exchange(record.engine, nullptr), record.run};
}

std::vector<LoaderCore::Ended> LoaderCore::end_all_epochs(const std::string& why) {
  std::vector<Ended> ended;
  while (!running_.empty()) {
    const std::shared_ptr<EpochRecord> record = running_.back();
    record->ended_by = Error{ErrorCode::kInvalidArgument, why, {}, false};
    ended.push_back(end_epoch(*record));
  }
  return ended;
}

void LoaderCore::close_epoch(EpochRecord& record) {
  Ended ended;
  {
    const std::lock_guard lock(mutex_);
    if (record.is_over) return;
    record.ended_by = Error{ErrorCode::kInvalidArgument, "this iterator is closed", {}, false};
    ended = end_epoch(record);
  }
  ended.cancel();
}

Result<Epoch::Next> LoaderCore::next(const std::shared_ptr<EpochRecord>& record, Batch& out,
                                     std::chrono::milliseconds patience) {
  PENSTOCK_CHECK(check_not_inside_map("next(iterator)"));
  std::shared_ptr<Engine> engine;
  {
    const std::lock_guard lock(mutex_);
    if (record->ended_by) return std::unexpected(*record->ended_by);
    if (record->is_over) return Epoch::Next::kEnd;
    engine = record->engine;
  }
  const Clock::time_point since = Clock::now();
  FinishedBatch batch;
  const Scheduler::Wait got = engine->scheduler.next(*record->run, batch, patience);
  const double waited = seconds_between(since, Clock::now());
  Ended failed;
  {
    const std::lock_guard lock(mutex_);
    record->deliver.wait_seconds += waited;
    deliver_.wait_seconds += waited;
    if (got == Scheduler::Wait::kPending) return Epoch::Next::kPending;
    if (record->ended_by) return std::unexpected(*record->ended_by);
    if (got == Scheduler::Wait::kCancelled) return bad_option("the loader is closed");
    if (got == Scheduler::Wait::kEnd) {
      if (!record->is_over) end_epoch(*record);
      return Epoch::Next::kEnd;
    }
    // A state taken after a failure leads back to the batch that failed.
    last_ = record;
    is_moved_ = false;
    if (auto counted = count(*record, batch); !counted) {
      record->ended_by = std::move(counted).error();
      failed = end_epoch(*record);
    } else {
      const Clock::time_point now = Clock::now();
      hand_over(engine->layout, batch, out);
      ++record->delivered;
      if (record->stats.counts.batches == 1)
        record->stats.first_batch_seconds = seconds_between(record->began, now);
      if (totals_.batches == 1) first_batch_seconds_ = seconds_between(constructed_, now);
      // The epoch is over when its last batch is handed over, so that a state taken now leads on.
      if (record->delivered == record->task.slice.batches())
        record->stats.seconds = seconds_between(record->began, now);
      const double seconds = seconds_between(now, Clock::now());
      for (StageStats* stage : {&record->deliver, &deliver_}) {
        ++stage->items;
        stage->bytes += batch.kept * engine->layout.sample_bytes() + batch.variable_bytes;
        stage->seconds += seconds;
      }
      return Epoch::Next::kBatch;
    }
  }
  failed.cancel();
  const std::lock_guard lock(mutex_);
  return std::unexpected(*record->ended_by);
}

// Books a finished batch; an error where the policy says so.
Status LoaderCore::count(EpochRecord& record, const FinishedBatch& batch) {
  Counts change;
  change.planned = batch.planned;
  Status status;
  for (const Error& error : batch.errors)
    if (errors_.size() < kErrorsListed) {
      errors_.push_back(error);
      errors_.back().cause.reset();  // a traceback keeps all variables of the user's function alive
    }
  if (batch.failed) {
    change.failed = batch.planned;
    status = std::unexpected(batch.errors.front());
  } else {
    change.skipped = batch.planned - batch.kept;
    change.replaced = batch.replaced;
    const Counts& before = record.stats.counts;
    const std::uint64_t bad = before.skipped + before.replaced + change.skipped + change.replaced;
    const double allowed =
        std::max(1.0, options_.max_skip * static_cast<double>(epoch_positions()) / options_.world_size);
    if (static_cast<double>(bad) > allowed) {
      change.failed = batch.kept;
      status = std::unexpected(
          Error{ErrorCode::kTooManySkipped,
                fmt::format("{} bad samples in this epoch are more than max_skip={} allows; the last: {}", bad,
                            options_.max_skip, batch.errors.front().describe()),
                batch.errors.front().where, false, batch.errors.front().cause});
    } else {
      change.delivered = batch.kept;
      change.padded = batch.padded ? batch.kept : 0;
      change.batches = 1;
    }
  }
  for (Counts* counts : {&record.stats.counts, &totals_}) {
    counts->planned += change.planned;
    counts->delivered += change.delivered;
    counts->skipped += change.skipped;
    counts->failed += change.failed;
    counts->padded += change.padded;
    counts->replaced += change.replaced;
    counts->batches += change.batches;
  }
  return status;
}

// ---- where the run stands

std::uint64_t LoaderCore::epoch_positions() const {
  if (order_.indices && order_.indices->empty()) return 0;
  return order_.epoch_size ? order_.epoch_size : order_.indices ? order_.indices->size() : order_.samples;
}

RankSlice LoaderCore::slice_from(std::uint64_t position, std::uint64_t size) const {
  return {size, position, options_.batch_size, options_.rank, options_.world_size, options_.drop_last};
}

std::uint64_t LoaderCore::batches_per_epoch() const {
  const std::lock_guard lock(mutex_);
  return slice_from(0, epoch_positions()).batches();
}

void LoaderCore::set_epoch(std::uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  if (next_position_ > 0 && epoch == next_epoch_) return;  // a state of it was loaded
  is_moved_ = true;
  next_epoch_ = epoch;
  next_position_ = 0;
}

Status LoaderCore::set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices) {
  const std::lock_guard lock(mutex_);
  OrderSpec changed = order_;
  changed.indices = indices;
  PENSTOCK_CHECK(check_order(changed));
  order_ = std::move(changed);
  options_.sampler = std::move(indices);
  return {};
}

Status LoaderCore::read_content() {
  {
    const std::lock_guard lock(mutex_);
    if (content_ != 0) return {};
  }
  const auto content = content_fingerprint(*source_);
  if (!content) return std::unexpected(content.error());
  const std::lock_guard lock(mutex_);
  content_ = *content;
  return {};
}

// Where the next epoch begins, as the loader stands now.
LoaderState LoaderCore::own_state() const {
  return {source_->fingerprint(), order_fingerprint(order_), list_fingerprint(order_),
          options_.seed,          next_epoch_,               next_position_,
          epoch_positions(),      order_.bucket_run,         content_};
}

LoaderState LoaderCore::state() const {
  const std::lock_guard lock(mutex_);
  LoaderState state = own_state();
  if (last_ && !is_moved_) {
    const RankSlice& slice = last_->task.slice;
    const bool is_complete = last_->delivered >= slice.batches();
    state.epoch = last_->task.epoch + (is_complete ? 1 : 0);
    state.position = is_complete ? 0 : slice.position_after(last_->delivered);
  }
  return state;
}

Status LoaderCore::load_state(const LoaderState& state) {
  PENSTOCK_CHECK(check_not_inside_map("load_state_dict()"));
  const std::lock_guard starting(starting_);
  std::vector<Ended> ended;
  {
    const std::lock_guard lock(mutex_);
    PENSTOCK_CHECK(check_state(state, own_state()));
    // The order stays what it was, also where batches or ranks are others now.
    order_.bucket_run = state.bucket_run;
    loaded_bucket_run_ = state.bucket_run;
    ended = end_all_epochs(
        "this iterator began before load_state_dict(), which decides where the next one begins; begin a new "
        "one with iter(loader)");
    last_.reset();
    is_moved_ = false;
    const bool is_complete = state.position > 0 && state.position == epoch_positions();
    next_epoch_ = state.epoch + (is_complete ? 1 : 0);
    next_position_ = is_complete ? 0 : state.position;
  }
  for (const Ended& each : ended) each.cancel();
  return {};
}

// ---- what it took

LoaderCore::FinishedEpoch LoaderCore::finished(const EpochRecord& record) {
  FinishedEpoch epoch{record.number, record.stats, record.run->spent};
  epoch.stats.stages[static_cast<std::size_t>(Stage::kDeliver)] = record.deliver;
  if (epoch.stats.seconds == 0) epoch.stats.seconds = seconds_between(record.began, Clock::now());
  return epoch;
}

EpochStats LoaderCore::FinishedEpoch::all() const {
  const WorkerStats workers = spent->sum();
  EpochStats sum = stats;
  for (std::size_t i = 0; i < kStages; ++i)
    if (i != static_cast<std::size_t>(Stage::kDeliver)) sum.stages[i] = workers.stages[i];
  sum.cache = workers.cache;
  return sum;
}

LoaderStats LoaderCore::stats() const {
  const std::lock_guard lock(mutex_);
  LoaderStats stats;
  stats.counts = totals_;
  WorkerStats workers = workers_before_;
  stats.chunks = chunks_before_;
  stats.cache_tiers = tiers_before_;
  if (engine_) {
    workers += engine_->scheduler.worker_stats();
    stats.chunks = chunks_before_ + engine_->chunk_stats();
    if (engine_->cache) stats.cache_tiers = engine_->cache->tiers();
    stats.queue_ready = engine_->scheduler.ready_batches();
    stats.queue_bytes = stats.queue_ready * engine_->layout.batch_bytes();
  }
  stats.stages = workers.stages;
  stats.stages[static_cast<std::size_t>(Stage::kDeliver)] = deliver_;
  stats.cache = workers.cache;
  stats.first_batch_seconds = first_batch_seconds_;
  std::vector<FinishedEpoch> epochs = finished_;
  for (const auto& record : running_) epochs.push_back(finished(*record));
  std::ranges::sort(epochs, {}, &FinishedEpoch::number);
  for (const FinishedEpoch& epoch : epochs) stats.epochs.push_back(epoch.all());
  // Where nothing was counted yet, too, there is one number for each tier.
  stats.cache.tiers.resize(stats.cache_tiers.size());
  for (EpochStats& epoch : stats.epochs) epoch.cache.tiers.resize(stats.cache_tiers.size());
  stats.errors = errors_;
  stats.queue_capacity = prefetch_;
  stats.memory_budget = ledger_->budget();
  stats.memory_peak = ledger_->peak();
  stats.memory_lent = ledger_->lent();
  stats.cache_form = cache_form_;
  stats.shuffle = describe_shuffle(order_, options_.batch_size * options_.world_size);
  stats.threads = threads_;
  stats.tuning = tuning_;
  stats.bottleneck = find_bottleneck(stats);
  return stats;
}

}  // namespace penstock
