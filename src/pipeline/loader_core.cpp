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

std::unexpected<Error> bad_option(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

std::vector<BatchField> fields_of(const SlotLayout& layout) {
  std::vector<BatchField> fields;
  for (std::size_t i = 0; i < layout.size(); ++i) fields.push_back(layout.field(i));
  return fields;
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
  books_.adopt(*engine);
}

Result<std::shared_ptr<Engine>> LoaderCore::current_engine() {
  LoaderOptions options;
  {
    const MutexLock lock(mutex_);
    if (is_closed_) return bad_option("the loader is closed");
    if (engine_) return engine_;
    options = options_;
  }
  auto parts = plan_loader(source_, options);
  if (!parts) return std::unexpected(std::move(parts).error());
  auto engine = std::make_shared<Engine>(std::move(*parts));
  const MutexLock lock(mutex_);
  adopt(engine);
  return engine;
}

// When this returns, no worker is left.
void LoaderCore::retire_engine() {
  std::shared_ptr<Engine> engine;
  {
    const MutexLock lock(mutex_);
    engine = engine_;
  }
  if (!engine) return;
  engine->scheduler.stop();
  const MutexLock lock(mutex_);
  books_.retire(*engine);
  engine->cache.reset();  // its memory returns to the system, unless other loaders use it
  engine->options.cache.reset();
  engine->charge.reset();
  engine_.reset();
}

void LoaderCore::close() {
  std::vector<Ended> ended;
  {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    ended = end_all_epochs("the loader is closed");
  }
  for (const Ended& each : ended) each.cancel();
  const MutexLock starting(starting_);
  retire_engine();
  const MutexLock lock(mutex_);
  options_.cache.reset();
}

// Fails on a worker thread of this loader, which would wait for itself.
Status LoaderCore::check_not_inside_map(const char* what) const {
  const MutexLock lock(mutex_);
  if (!engine_ || !engine_->scheduler.runs_here()) return {};
  return bad_option(fmt::format("{} inside a Map of the same loader: the loader waits for the Map to end", what));
}

Status LoaderCore::set_ranks(std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks) {
  PENSTOCK_CHECK(check_not_inside_map("iter(loader)"));
  PENSTOCK_CHECK(check_ranks(rank, world_size));
  const MutexLock starting(starting_);
  std::vector<Ended> ended;
  {
    const MutexLock lock(mutex_);
    if (is_closed_) return bad_option("the loader is closed");
    if (rank == options_.rank && world_size == options_.world_size && local_ranks == options_.local_ranks)
      return {};
    options_.rank = rank;
    options_.world_size = world_size;
    options_.local_ranks = local_ranks;
    // After load_state() the order stays that of the state.
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
  const MutexLock lock(mutex_);
  if (!engine_) return {};
  const Scheduler::Knobs now = engine_->scheduler.set_knobs({wanted.threads, wanted.prefetch});
  books_.tune(now);
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
  const MutexLock starting(starting_);
  auto engine = current_engine();
  if (!engine) return std::unexpected(std::move(engine).error());
  PENSTOCK_CHECK(check_carries_one_more(**engine));
  std::uint64_t epoch = 0, position = 0;
  OrderSpec order;
  {
    const MutexLock lock(mutex_);
    epoch = next_epoch_;
    position = next_position_;
    order = order_;
  }
  std::shared_ptr<const EpochOrder> walk = make_epoch_order(order, epoch);
  RankSlice slice;
  {
    const MutexLock lock(mutex_);
    slice = slice_from(position, walk->size());
  }
  EpochTask task{epoch, std::move(walk), slice};
  const Clock::time_point began = Clock::now();
  if ((*engine)->cache) (*engine)->cache->start_epoch(slice.samples());
  auto run = (*engine)->scheduler.start(task);
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
  auto record = std::make_shared<EpochRecord>(std::move(task), *engine, std::move(*run), began);
  const MutexLock lock(mutex_);
  record->number = ++started_;
  next_epoch_ = epoch + 1;
  next_position_ = 0;
  is_moved_ = false;
  if (!last_ || last_->is_over) last_ = record;
  running_.push_back(record);
  return record;
}

// Records the end of an epoch, for whatever reason it ended.
LoaderCore::Ended LoaderCore::end_epoch(EpochRecord& record) {
  record.is_over = true;
  books_.end(record);
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
    const MutexLock lock(mutex_);
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
    const MutexLock lock(mutex_);
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
    const MutexLock lock(mutex_);
    books_.add_wait(*record, waited);
    if (got == Scheduler::Wait::kPending) return Epoch::Next::kPending;
    if (record->ended_by) return std::unexpected(*record->ended_by);
    if (got == Scheduler::Wait::kCancelled) return bad_option("the loader is closed");
    if (got == Scheduler::Wait::kEnd) {
      if (!record->is_over) end_epoch(*record);
      return Epoch::Next::kEnd;
    }
    // A state that is taken after a failure points at the batch that failed.
    last_ = record;
    is_moved_ = false;
    const double allowed =
        std::max(1.0, options_.max_skip * static_cast<double>(epoch_positions()) / options_.world_size);
    if (auto counted = books_.count(*record, batch, {allowed, options_.max_skip}); !counted) {
      record->ended_by = std::move(counted).error();
      failed = end_epoch(*record);
    } else {
      const Clock::time_point now = Clock::now();
      hand_over(engine->layout, batch, out);
      books_.add_delivered(*record, now, batch.kept * engine->layout.sample_bytes() + batch.variable_bytes);
      return Epoch::Next::kBatch;
    }
  }
  failed.cancel();
  const MutexLock lock(mutex_);
  return std::unexpected(*record->ended_by);
}

// ---- position and state

std::uint64_t LoaderCore::epoch_positions() const {
  if (order_.indices && order_.indices->empty()) return 0;
  return order_.epoch_size ? order_.epoch_size : order_.indices ? order_.indices->size() : order_.samples;
}

RankSlice LoaderCore::slice_from(std::uint64_t position, std::uint64_t size) const {
  return {size, position, options_.batch_size, options_.rank, options_.world_size, options_.drop_last};
}

std::uint64_t LoaderCore::batches_per_epoch() const {
  const MutexLock lock(mutex_);
  return slice_from(0, epoch_positions()).batches();
}

void LoaderCore::set_epoch(std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  if (next_position_ > 0 && epoch == next_epoch_) return;  // a state within this epoch was loaded
  is_moved_ = true;
  next_epoch_ = epoch;
  next_position_ = 0;
}

Status LoaderCore::set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices) {
  const MutexLock lock(mutex_);
  OrderSpec changed = order_;
  changed.indices = indices;
  PENSTOCK_CHECK(check_order(changed));
  order_ = std::move(changed);
  options_.sampler = std::move(indices);
  return {};
}

Status LoaderCore::read_content() {
  {
    const MutexLock lock(mutex_);
    if (content_ != 0) return {};
  }
  const auto content = content_fingerprint(*source_);
  if (!content) return std::unexpected(content.error());
  const MutexLock lock(mutex_);
  content_ = *content;
  return {};
}

// Returns the state with which the next epoch would begin now.
LoaderState LoaderCore::own_state() const {
  return {source_->fingerprint(), order_fingerprint(order_), list_fingerprint(order_),
          options_.seed,          next_epoch_,               next_position_,
          epoch_positions(),      order_.bucket_run,         content_};
}

LoaderState LoaderCore::state() const {
  const MutexLock lock(mutex_);
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
  const MutexLock starting(starting_);
  std::vector<Ended> ended;
  {
    const MutexLock lock(mutex_);
    PENSTOCK_CHECK(check_state(state, own_state()));
    // The order is that of the state, even if the batch size or the number of ranks has changed.
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

// ---- statistics

LoaderStats LoaderCore::stats() const {
  const MutexLock lock(mutex_);
  LoaderStats stats = books_.stats(engine_.get(), running_);
  stats.shuffle = describe_shuffle(order_, options_.batch_size * options_.world_size);
  stats.bottleneck = find_bottleneck(stats);
  return stats;
}

}  // namespace penstock
