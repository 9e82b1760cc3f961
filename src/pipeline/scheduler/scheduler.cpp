#include "pipeline/scheduler/scheduler.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr double kBookSeconds = 20e-3;  // the statistics of an epoch in progress may be this old

thread_local const Scheduler* worker_of = nullptr;

// Adds what a worker spends to the epoch that it works on. It does so every kBookSeconds, and when the worker turns to
// another epoch or has nothing to do, which is before the end of the epoch can be seen.
class SpendingBook {
 public:
  explicit SpendingBook(const WorkerCounters& counters) : counters_(counters) {}

  // nullptr: the worker has nothing to do.
  void turn_to(std::shared_ptr<EpochSpending> spent) {
    if (spent && spent == spent_) return;
    book();
    spent_ = std::move(spent);
  }
  void book_now_and_then(Clock::time_point now) {
    if (seconds_between(booked_at_, now) <= kBookSeconds) return;
    book();
    booked_at_ = now;
  }
  void book() {
    if (!spent_) return;
    const WorkerStats now = counters_.read();
    spent_->add(now - booked_);
    booked_ = now;
  }

 private:
  const WorkerCounters& counters_;
  WorkerStats booked_;
  std::shared_ptr<EpochSpending> spent_;
  Clock::time_point booked_at_ = Clock::now();
};

}  // namespace

Scheduler::Scheduler(const Setup& setup)
    : pool_(setup.pool),
      variable_memory_(setup.variable_memory),
      ledger_(setup.ledger),
      limits_{setup.threads, setup.prefetch},
      make_maker_(setup.make_maker),
      chunk_scratch_(*ledger_, setup.chunk_share_bytes, setup.chunk_pot_bytes),
      scratch_(*ledger_, setup.scratch_share_bytes, setup.scratch_pot_bytes),
      epochs_(setup.layout, *pool_, *variable_memory_, setup.reads),
      claims_(epochs_, *variable_memory_, limits_),
      runner_(setup.plan, setup.layout, *variable_memory_, setup.policy,
              [this](const Claim& claim, std::uint64_t index, const std::optional<Replacement>& replacement,
                     std::size_t bytes) { return deferred_.defer(claim, index, replacement, bytes); }),
      deferred_(epochs_, runner_, std::make_shared<Area>(setup.ledger, setup.in_flight_bytes)),
      delivery_(epochs_, setup.layout, *pool_, *variable_memory_) {
  scratch_.chunks = &chunk_scratch_;
  for (unsigned t = 0; t < limits_.threads; ++t) counters_.emplace_back(setup.cache_tiers);
  pool_->on_return([this] { wake_workers(); });
  variable_memory_->on_return([this] { wake_workers(); });
  for (unsigned t = 0; t < limits_.threads; ++t) pool_threads_.emplace_back([this, t] { work(t); });
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::stop() {
  pool_->on_return({});
  variable_memory_->on_return({});
  const MutexLock only_one(stop_mutex_);
  std::vector<std::shared_ptr<RunningEpoch>> cancelled;
  {
    const MutexLock lock(epochs_.mutex);
    cancelled = epochs_.stop();
  }
  epochs_.wake_workers();
  pool_threads_.clear();
  for (const auto& run : cancelled) run->revoked.request_stop();
  deferred_.wait_until_none();
  std::vector<std::unique_ptr<EpochReads>> ended;  // destroyed without the lock
  const MutexLock lock(epochs_.mutex);
  ended = epochs_.retire_all();
}

void Scheduler::wake_workers() {
  // Taking the mutex ensures that no worker is between looking for work and waiting, where it would miss the signal.
  { const MutexLock lock(epochs_.mutex); }
  epochs_.wake_workers();
}

void Scheduler::cancel(RunningEpoch& run) {
  std::unique_ptr<EpochReads> ended;  // destroyed without the lock
  {
    const MutexLock lock(epochs_.mutex);
    if (run.is_cancelled) return;
    ended = epochs_.cancel(run);
  }
  run.revoked.request_stop();
  epochs_.wake_workers();
}

Scheduler::Knobs Scheduler::set_knobs(const Knobs& wanted) {
  const Knobs now{std::clamp(wanted.threads, 1u, limits_.threads),
                  std::clamp<std::uint64_t>(wanted.prefetch, 1, limits_.prefetch)};
  {
    const MutexLock lock(epochs_.mutex);
    claims_.set_knobs(now);
  }
  epochs_.wake_workers();
  return now;
}

Scheduler::Knobs Scheduler::knobs() const {
  const MutexLock lock(epochs_.mutex);
  return claims_.knobs();
}

Result<std::shared_ptr<RunningEpoch>> Scheduler::start(EpochTask task) {
  auto run = std::make_shared<RunningEpoch>(std::move(task));
  {
    const MutexLock lock(epochs_.mutex);
    if (epochs_.is_stopping()) return fail(ErrorCode::kStopped, "the loader is closed");
    if (run->is_handed_out()) return run;
    PENSTOCK_CHECK(epochs_.start(run));
  }
  epochs_.wake_workers();
  return run;
}

std::size_t Scheduler::epochs() const {
  const MutexLock lock(epochs_.mutex);
  return epochs_.under_way();
}

std::uint64_t Scheduler::ready_batches() const {
  const MutexLock lock(epochs_.mutex);
  return epochs_.ready_batches();
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
  SpendingBook book(counters);
  std::uint64_t turned_to = 0;  // the epoch whose samples the maker makes
  MutexLock lock(epochs_.mutex);
  while (!epochs_.is_stopping()) {
    auto claim = claims_.claim(number);
    book.turn_to(claim ? claim->run->spent : nullptr);
    if (!claim) {
      const Clock::time_point since = Clock::now();
      const bool queue_is_full = epochs_.is_queue_full();
      epochs_.wait_for_work();
      const auto waited = std::chrono::nanoseconds(Clock::now() - since).count();
      if (queue_is_full)
        counters.stages[static_cast<std::size_t>(Stage::kCollate)].wait_nanoseconds.add(
            static_cast<std::uint64_t>(waited));
      continue;
    }
    const SharedReads shared = claim->run->reads->shared();
    lock.unlock();
    const Clock::time_point since = Clock::now();
    if (shared.epoch != turned_to) maker->turn_to(shared);
    turned_to = shared.epoch;
    {
      const Interruption::Scope scope(&claim->run->interruption);
      runner_.run(*claim, *maker);
    }
    const Clock::time_point now = Clock::now();
    book.book_now_and_then(now);
    lock.lock();
    claims_.finish(*claim, seconds_between(since, now));
    if (claim->run->is_left()) {
      std::unique_ptr<EpochReads> ended = epochs_.retire(*claim->run);
      lock.unlock();
      ended.reset();
      epochs_.wake_workers();  // there is memory for others
      lock.lock();
    }
  }
  book.book();
}

bool Scheduler::is_own_thread() { return worker_of != nullptr; }
bool Scheduler::runs_here() const { return worker_of == this; }

}  // namespace penstock
