#include "pipeline/scheduler.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr double kClaimSeconds = 50e-6;  // long enough that claiming costs nothing
constexpr double kBookSeconds = 20e-3;  // how old the books of an epoch under way may be

thread_local const Scheduler* worker_of = nullptr;

}  // namespace

Scheduler::Scheduler(const Setup& setup)
    : plan_(setup.plan),
      layout_(setup.layout),
      pool_(setup.pool),
      room_(setup.room),
      ledger_(setup.ledger),
      reads_(setup.reads),
      limits_{setup.threads, setup.prefetch},
      policy_(setup.policy),
      make_maker_(setup.make_maker),
      in_flight_(std::make_shared<Area>(setup.ledger, setup.in_flight_bytes)),
      runner_(layout_, *room_, policy_,
              [this](const Claim& claim, std::uint64_t index, const std::optional<Replacement>& replacement,
                     std::size_t bytes) { return defer(claim, index, replacement, bytes); }),
      chunk_scratch_(*ledger_, setup.chunk_share_bytes, setup.chunk_pot_bytes),
      scratch_(*ledger_, setup.scratch_share_bytes, setup.scratch_pot_bytes),
      knobs_(limits_) {
  scratch_.chunks = &chunk_scratch_;
  for (unsigned t = 0; t < limits_.threads; ++t) counters_.emplace_back(setup.cache_tiers);
  pool_->on_return([this] { wake_workers(); });
  room_->on_return([this] { wake_workers(); });
  for (unsigned t = 0; t < limits_.threads; ++t) pool_threads_.emplace_back([this, t] { work(t); });
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::stop() {
  pool_->on_return({});
  room_->on_return({});
  const std::lock_guard only_one(stop_mutex_);
  std::vector<RunPtr> cancelled;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const RunPtr& run : runs_) {
      run->cancel();
      if (run->reads) run->reads->interrupt();
      run->batch_ready.notify_all();
    }
    cancelled = runs_;
  }
  work_there_.notify_all();
  pool_threads_.clear();
  for (const RunPtr& run : cancelled) run->revoked.request_stop();
  std::vector<std::unique_ptr<EpochReads>> ended;  // destroyed without the lock
  std::unique_lock lock(mutex_);
  deferred_done_.wait(lock, [&] { return deferred_ == 0; });
  while (!runs_.empty()) {
    const RunPtr run = runs_.back();
    drop_idle_batches(*run);
    ended.push_back(retire(*run));
  }
}

void Scheduler::drop(RunningEpoch& run, OpenBatch& batch) {
  run.reads->close_batch(batch.range);
  pool_->put_back(std::move(batch.contents->block));
  room_->drop(batch.contents->variable);
}

void Scheduler::drop_idle_batches(RunningEpoch& run) {
  std::erase_if(run.batches, [&](const auto& batch) {
    if (batch->workers > 0) return false;
    drop(run, *batch);
    return true;
  });
}

// The last batch of the epoch is made again later, when there is memory.
void Scheduler::drop_last(RunningEpoch& run) {
  drop(run, *run.batches.back());
  run.batches.pop_back();
  --run.next_to_open;
}

std::vector<EpochReads*> Scheduler::reads_under_way() const {
  std::vector<EpochReads*> reads;
  for (const RunPtr& run : runs_)
    if (run->reads && !run->is_cancelled) reads.push_back(run->reads.get());
  return reads;
}

// No worker is at work on it, and none will be. What is returned is to be destroyed without the lock.
std::unique_ptr<EpochReads> Scheduler::retire(RunningEpoch& run) {
  std::unique_ptr<EpochReads> reads = std::move(run.reads);
  std::erase_if(runs_, [&](const RunPtr& other) { return other.get() == &run; });
  if (reads) reads = reads_.put_back(std::move(reads), reads_under_way());
  return reads;
}

void Scheduler::wake_workers() {
  // Taking the mutex makes sure that no worker is between looking and going to sleep.
  { std::lock_guard lock(mutex_); }
  work_there_.notify_all();
}

void Scheduler::cancel(RunningEpoch& run) {
  std::unique_ptr<EpochReads> ended;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    if (run.is_cancelled) return;
    run.cancel();
    if (run.workers > 0 && run.reads) run.reads->interrupt();
    drop_idle_batches(run);
    if (run.workers == 0) ended = retire(run);
    run.batch_ready.notify_all();
  }
  run.revoked.request_stop();
  work_there_.notify_all();
}

Scheduler::Knobs Scheduler::set_knobs(const Knobs& wanted) {
  Knobs now;
  {
    const std::lock_guard lock(mutex_);
    knobs_.threads = std::clamp(wanted.threads, 1u, limits_.threads);
    knobs_.prefetch = std::clamp<std::uint64_t>(wanted.prefetch, 1, limits_.prefetch);
    now = knobs_;
  }
  work_there_.notify_all();
  return now;
}

Scheduler::Knobs Scheduler::knobs() const {
  const std::lock_guard lock(mutex_);
  return knobs_;
}

Result<std::shared_ptr<RunningEpoch>> Scheduler::start(EpochTask task) {
  auto run = std::make_shared<RunningEpoch>(std::move(task));
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return fail(ErrorCode::kStopped, "the loader is closed");
    if (run->is_handed_out()) return run;
    auto reads = reads_.take(reads_under_way());
    if (!reads) return std::unexpected(std::move(reads).error());
    run->reads = std::move(*reads);
    run->reads->start(run->task.order, run->task.slice);
    runs_.push_back(run);
  }
  work_there_.notify_all();
  return run;
}

std::size_t Scheduler::epochs() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(runs_, [](const RunPtr& run) { return !run->is_cancelled; }));
}

std::uint64_t Scheduler::ready_batches() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t ready = 0;
  for (const RunPtr& run : runs_)
    ready += static_cast<std::uint64_t>(
        std::ranges::count_if(run->batches, [](const auto& batch) { return batch->is_ready(); }));
  return ready;
}

WorkerStats Scheduler::worker_stats() const {
  WorkerStats sum;
  for (const WorkerCounters& worker : counters_) sum += worker.read();
  return sum;
}

void Scheduler::work(unsigned number) {
  worker_of = this;
  WorkerCounters& counters = counters_[number];
  const std::unique_ptr<SampleMaker> maker = make_maker_(scratch_, counters);
  // What was spent is booked when the worker turns to another epoch or has nothing to do, which is before
  // anybody can see that the epoch is over; and now and then.
  WorkerStats booked;
  std::shared_ptr<EpochSpending> spent;
  Clock::time_point booked_at = Clock::now();
  std::uint64_t turned_to = 0;  // the epoch whose samples the maker makes
  const auto book = [&] {
    if (!spent) return;
    const WorkerStats now = counters.read();
    spent->add(now - booked);
    booked = now;
  };
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    auto claim = number < knobs_.threads ? claim_samples() : std::nullopt;
    if (!claim || claim->run->spent != spent) {
      book();
      spent = claim ? claim->run->spent : nullptr;
    }
    if (!claim) {
      const Clock::time_point since = Clock::now();
      const bool queue_is_full = std::ranges::any_of(
          runs_, [](const RunPtr& run) { return !run->is_cancelled && run->next_to_open < run->to_open; });
      ++idle_;
      work_there_.wait(lock);
      --idle_;
      const auto waited = std::chrono::nanoseconds(Clock::now() - since).count();
      if (queue_is_full)
        counters.stages[static_cast<std::size_t>(Stage::kCollate)].wait_nanoseconds.add(
            static_cast<std::uint64_t>(waited));
      continue;
    }
    ++claim->run->workers;
    ++claim->batch->workers;
    const SharedReads shared = claim->run->reads->shared();
    lock.unlock();
    const Clock::time_point since = Clock::now();
    if (shared.epoch != turned_to) maker->turn_to(shared);
    turned_to = shared.epoch;
    {
      const Interruption::Scope scope(&claim->run->interruption);
      if (claim->count > 0)
        runner_.run(*claim, *maker);
      else
        complete(*claim->batch);
    }
    const Clock::time_point now = Clock::now();
    const double seconds = seconds_between(since, now);
    if (seconds_between(booked_at, now) > kBookSeconds) {
      book();
      booked_at = now;
    }
    lock.lock();
    --claim->run->workers;
    --claim->batch->workers;
    finish_claim(*claim, seconds);
    if (claim->run->is_cancelled && claim->run->workers == 0) {
      drop_idle_batches(*claim->run);
      std::unique_ptr<EpochReads> ended = retire(*claim->run);
      lock.unlock();
      ended.reset();
      work_there_.notify_all();  // there is memory for others
      lock.lock();
    }
  }
  book();
}

// The one that has been waited for longest comes first; then those with the fewest batches, the newest of
// them first.
std::vector<Scheduler::RunPtr> Scheduler::in_order_of_need() const {
  std::vector<RunPtr> runs;
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run)
    if (!(*run)->is_cancelled) runs.push_back(*run);
  const auto need = [](const RunPtr& run) {
    return std::pair{run->is_waited_for() ? run->asked_at : UINT64_MAX, run->batches.size()};
  };
  std::ranges::stable_sort(runs, {}, need);
  return runs;
}

std::optional<Claim> Scheduler::claim_samples() {
  if (runs_.size() == 1) return runs_.front()->is_cancelled ? std::nullopt : claim_from(runs_.front());
  for (const RunPtr& run : in_order_of_need()) {
    if (auto claim = claim_from(run)) return claim;
    // While the epoch that is waited for lacks memory that others hold, they do not go on.
    if (run->is_waited_for() && run->is_refused) return std::nullopt;
  }
  return std::nullopt;
}

// The earliest samples that nobody works on; opens a batch where all open ones are claimed. Batches
// behind the next one to leave stand still while there is no room for what varies.
std::optional<Claim> Scheduler::claim_from(const RunPtr& run) {
  for (const auto& batch : run->batches) {
    if (batch != run->batches.front() && room_->is_short()) return std::nullopt;
    if (auto claim = claim_of(run, batch)) return claim;
  }
  if (!run->batches.empty() && room_->is_short()) return std::nullopt;
  if (!open_batch(*run)) return std::nullopt;
  return claim_of(run, run->batches.back());
}

std::optional<Claim> Scheduler::claim_of(const RunPtr& run, const std::shared_ptr<OpenBatch>& batch) {
  const bool is_next = batch == run->batches.front();
  const bool is_to_complete = batch->is_made() && !batch->is_complete && !batch->is_being_completed;
  if (is_next && run->is_refused && (is_to_complete || !batch->put_off.empty()) &&
      !make_variable_room_for(*run))
    return std::nullopt;
  if (is_to_complete) {
    batch->is_being_completed = true;
    return Claim{run, batch};
  }
  if (!batch->to_replace.empty()) {
    Claim claim{run, batch, batch->to_replace.back().index, 1, std::move(batch->to_replace.back())};
    batch->to_replace.pop_back();
    return claim;
  }
  if (!batch->put_off.empty() && is_next) {
    const std::uint64_t index = batch->put_off.back();
    batch->put_off.pop_back();
    return Claim{run, batch, index, 1};
  }
  if (batch->claimed >= batch->range.count) return std::nullopt;
  // Cheap samples by the handful, but never so many that another thread would stand idle while
  // this batch is the next to leave.
  const std::uint64_t left = batch->range.count - batch->claimed;
  const double by_time = sample_seconds_ > 0 ? kClaimSeconds / sample_seconds_ : 1;
  const std::uint64_t most = std::max<std::uint64_t>(1, left / (2 * knobs_.threads));
  const auto count = static_cast<std::uint64_t>(std::clamp(by_time, 1.0, static_cast<double>(most)));
  Claim claim{run, batch, batch->claimed, count};
  batch->claimed += count;
  return claim;
}

bool Scheduler::open_batch(RunningEpoch& run) {
  if (run.next_to_open >= run.to_open || run.batches.size() >= std::min(knobs_.prefetch, run.reads->prefetch))
    return false;
  const bool is_first = run.batches.empty();
  MemoryBlock block = pool_->try_take(is_first);
  if (block.size() == 0 && take_batch_for(run)) block = pool_->try_take(is_first);
  if (block.size() == 0) {
    // With a batch on its way, memory will come back. Without, nothing would ever wake us again.
    if (is_first && !others_hold_memory(run)) {
      run.is_out_of_memory = true;
      run.batch_ready.notify_all();
    }
    return false;
  }
  run.is_out_of_memory = false;
  auto batch = std::make_shared<OpenBatch>();
  batch->range = run.task.slice.batch(run.next_to_open++);
  batch->contents->block = std::move(block);
  batch->contents->prepare(layout_, batch->range.count);
  batch->is_complete = !layout_.has_padding();
  if (is_first) room_->promote(batch->contents->variable);
  run.reads->open_batch(batch->range, *batch->contents);
  run.batches.push_back(std::move(batch));
  if (idle_ > 0) work_there_.notify_all();
  return true;
}

// The last batch of the epoch that has the most, where that is at least two more than this one has: the one
// that takes it then has no reason to give it back.
bool Scheduler::take_batch_for(const RunningEpoch& run) {
  RunningEpoch* richest = nullptr;
  for (const RunPtr& other : runs_) {
    if (other.get() == &run || other->batches.size() < run.batches.size() + 2) continue;
    if (other->batches.back()->workers > 0) continue;
    if (richest == nullptr || other->batches.size() > richest->batches.size()) richest = other.get();
  }
  if (richest == nullptr) return false;
  drop_last(*richest);
  return true;
}

// True: the epoch's next batch, which was refused memory for what varies, may try again. The epoch that is
// waited for takes batches of others, even their next ones; where they have none, it has all of the memory.
bool Scheduler::make_variable_room_for(const RunningEpoch& run) {
  if (!room_->is_short_for_next() || !others_hold_memory(run)) return true;
  const std::vector<RunPtr> runs = in_order_of_need();
  if (!run.is_waited_for() || runs.front().get() != &run) return false;
  for (auto other = runs.rbegin(); other != runs.rend(); ++other) {
    if (other->get() == &run || (*other)->batches.empty()) continue;
    if ((*other)->batches.back()->workers > 0) continue;
    drop_last(**other);
    return true;
  }
  return false;
}

bool Scheduler::others_hold_memory(const RunningEpoch& run) const {
  return std::ranges::any_of(
      runs_, [&](const RunPtr& other) { return other.get() != &run && !other->batches.empty(); });
}

// The batch and the epoch stay as long as the sample is not completed, as they do for a worker that makes one.
DeferredSample Scheduler::defer(const Claim& claim, std::uint64_t index,
                                const std::optional<Replacement>& replacement, std::size_t bytes) {
  AreaMemory memory(in_flight_, bytes);
  if (!memory) return {};
  {
    const std::lock_guard lock(mutex_);
    ++claim.run->workers;
    ++claim.batch->workers;
    ++deferred_;
  }
  return {std::move(memory), bytes, claim.run->revoked.get_token(),
          [this, run = claim.run, batch = claim.batch, is_stand_in = replacement.has_value(),
           sample = replacement.value_or(Replacement{index, {}, 0})](Status status) {
            complete_deferred(run, *batch, sample, is_stand_in, std::move(status));
          }};
}

void Scheduler::complete_deferred(const RunPtr& run, OpenBatch& batch, Replacement sample, bool is_stand_in,
                                  Status status) {
  bool is_lost = false;
  if (status) {
    if (is_stand_in) ClaimRunner::note_replaced(batch, std::move(sample.error));
  } else {
    const bool is_replaced = runner_.is_replaced(status.error(), sample.attempts);
    if (!is_stand_in || status.error().code == ErrorCode::kStopped) sample.error = std::move(status).error();
    if (is_replaced) {
      is_lost = true;
    } else {
      runner_.note_failure(batch, sample.index, std::move(sample.error));
    }
  }
  std::unique_ptr<EpochReads> ended;
  {
    const std::lock_guard lock(mutex_);
    if (is_lost)
      batch.to_replace.push_back(std::move(sample));
    else
      ++batch.done;
    --batch.workers;
    --run->workers;
    if (!run->batches.empty() && run->batches.front().get() == &batch && batch.is_ready()) {
      run->is_refused = false;
      run->batch_ready.notify_all();
    }
    if (run->is_cancelled && run->workers == 0) {
      drop_idle_batches(*run);
      ended = retire(*run);
    }
  }
  ended.reset();
  // The last thing that is done with this object: stop() may wait for it.
  const std::lock_guard lock(mutex_);
  --deferred_;
  work_there_.notify_all();
  deferred_done_.notify_all();
}

// All samples are there: pads them. Left for later where there is no room yet.
void Scheduler::complete(OpenBatch& batch) {
  std::unique_lock trouble(batch.trouble);
  const std::vector<bool> left_out = batch.left_out;
  const bool failed = batch.failed;
  trouble.unlock();
  auto answer = VariableMemory::Answer::kYes;
  if (!failed) answer = pad_parts(layout_, *batch.contents, *room_, left_out, policy_.pad_value);
  if (answer == VariableMemory::Answer::kNever) {
    trouble.lock();
    batch.failed = true;
    batch.too_large = Error{ErrorCode::kNoMemory,
                            room_->describe_too_large("a padded batch"),
                            {plan_.source->uri(), -1, -1, -1},
                            false};
  }
  const std::lock_guard lock(mutex_);
  batch.is_complete = answer != VariableMemory::Answer::kLater;
}

void Scheduler::finish_claim(const Claim& claim, double seconds) {
  OpenBatch& batch = *claim.batch;
  RunningEpoch& run = *claim.run;
  bool was_refused = false;
  if (claim.count > 0) {
    const double each = seconds / static_cast<double>(claim.count);
    sample_seconds_ = sample_seconds_ > 0 ? 0.9 * sample_seconds_ + 0.1 * each : each;
    batch.done += claim.count - claim.put_off.size() - claim.deferred;
    batch.put_off.insert(batch.put_off.end(), claim.put_off.begin(), claim.put_off.end());
    was_refused = !claim.put_off.empty();
  } else if (!batch.is_complete) {
    batch.is_being_completed = false;
    was_refused = true;
  }
  const bool is_next = !run.batches.empty() && claim.batch == run.batches.front();
  if (!is_next) return;
  if (was_refused) run.is_refused = true;
  if (batch.is_ready()) {
    run.is_refused = false;
    run.batch_ready.notify_all();
  }
}

// One owner for all of the batch's memory, which goes back piece by piece when it is gone.
void Scheduler::lend(OpenBatch& batch, FinishedBatch& out) {
  struct Lent {
    std::shared_ptr<void> block, variable;  // given back last
    std::shared_ptr<BatchContents> contents;
  };
  auto lent = std::make_shared<Lent>();
  lent->block = pool_->lend(std::move(batch.contents->block));
  if (layout_.has_variable()) lent->variable = room_->lend(batch.contents->variable);
  lent->contents = batch.contents;
  out.block = static_cast<std::byte*>(lent->block.get());
  out.contents = batch.contents.get();
  out.memory = std::move(lent);
}

Scheduler::Wait Scheduler::next(RunningEpoch& run, FinishedBatch& out, std::chrono::milliseconds patience) {
  std::shared_ptr<OpenBatch> batch;
  std::unique_ptr<EpochReads> ended;  // destroyed without the lock
  {
    std::unique_lock lock(mutex_);
    const auto something = [&] {
      if (run.is_cancelled || stopping_) return true;
      return run.batches.empty() ? run.next_to_open >= run.to_open || run.is_out_of_memory
                                 : run.batches.front()->is_ready();
    };
    if (!something()) {
      if (run.asked_at == 0) run.asked_at = ++questions_;
      // Its turn comes now, and what others hold may be taken for it.
      if (runs_.size() > 1 && idle_ > 0) work_there_.notify_all();
    }
    if (!run.batch_ready.wait_for(lock, patience, something)) return Wait::kPending;
    run.asked_at = 0;
    if (run.is_cancelled || stopping_) return Wait::kCancelled;
    if (run.is_handed_out()) return Wait::kEnd;
    if (run.batches.empty()) {
      run.is_out_of_memory = false;
      out.planned = run.task.slice.batch(run.next_to_open).count;
      out.failed = true;
      out.errors.push_back({ErrorCode::kNoMemory, "the system has no memory left for a batch", {}, false});
      return Wait::kBatch;
    }
    batch = std::move(run.batches.front());
    run.batches.pop_front();
    // Lent before a worker can look for memory: in a budget of one batch, the next one fits only
    // when this one has left the ledger.
    out.variable_bytes = batch->contents->variable.bytes;
    run.reads->close_batch(batch->range);
    lend(*batch, out);
    if (!run.batches.empty()) room_->promote(run.batches.front()->contents->variable);
    if (run.is_handed_out()) ended = retire(run);
    if (idle_ > 0) work_there_.notify_all();
  }
  out.planned = batch->range.count;
  out.kept = out.planned;
  out.padded = batch->range.padded;
  out.replaced = batch->replaced;
  out.errors = std::move(batch->errors);
  // Whoever stops the program is not to be told of bad samples first.
  std::ranges::sort(out.errors, {}, [](const Error& error) {
    return std::pair{error.code != ErrorCode::kStopped, error.where.sample};
  });
  // A batch that does not fit is to blame before any sample of it.
  if (batch->too_large) out.errors.insert(out.errors.begin(), std::move(*batch->too_large));
  out.failed = batch->failed;
  if (!batch->left_out.empty()) {
    batch->left_out.resize(out.planned);
    out.kept = compact(layout_, *out.contents, out.block, batch->left_out);
  }
  return Wait::kBatch;
}

bool Scheduler::is_own_thread() { return worker_of != nullptr; }
bool Scheduler::runs_here() const { return worker_of == this; }

}  // namespace penstock
