#include "pipeline/scheduler.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr double kClaimSeconds = 50e-6;  // long enough that claiming costs nothing
constexpr int kStandInTries = 8;

thread_local bool is_worker = false;

}  // namespace

struct Scheduler::OpenBatch {
  EpochTask* task = nullptr;
  PositionRange range;
  std::shared_ptr<BatchContents> contents = std::make_shared<BatchContents>();
  // Guarded by the scheduler's mutex.
  std::uint64_t claimed = 0, done = 0;
  std::vector<std::uint64_t> put_off;  // samples to be made when this batch is the next to leave
  bool is_complete = false;            // padded, where it is to be
  bool is_being_completed = false;

  std::mutex trouble;  // errors are rare: a mutex of their own
  std::vector<bool> left_out;
  std::vector<Error> errors;
  std::uint64_t replaced = 0;
  bool failed = false;
  std::optional<Error> too_large;  // nobody's fault but the batch's

  bool is_made() const { return done == range.count; }
  bool is_ready() const { return is_made() && is_complete; }
};

Scheduler::Scheduler(const Setup& setup)
    : plan_(setup.plan),
      layout_(setup.layout),
      pool_(setup.pool),
      room_(setup.room),
      ledger_(setup.ledger),
      shared_(setup.shared),
      prefetch_(setup.prefetch),
      policy_(setup.policy),
      threads_(setup.threads),
      scratch_(*ledger_, setup.scratch_share_bytes, setup.scratch_pot_bytes),
      counters_(setup.threads) {
  pool_->on_return([this] { wake_workers(); });
  room_->on_return([this] { wake_workers(); });
  for (unsigned t = 0; t < threads_; ++t) pool_threads_.emplace_back([this, t] { work(t); });
}

Scheduler::~Scheduler() {
  pool_->on_return({});
  room_->on_return({});
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_there_.notify_all();
  shared_.interrupt();
  pool_threads_.clear();
  drop_batches();
}

void Scheduler::drop_batches() {
  for (const auto& batch : batches_) {
    pool_->put_back(std::move(batch->contents->block));
    room_->give_back(batch->contents->room, batch->contents->room.bytes);
  }
  batches_.clear();
}

void Scheduler::wake_workers() {
  // Taking the mutex makes sure that no worker is between looking and going to sleep.
  { std::lock_guard lock(mutex_); }
  work_there_.notify_all();
}

void Scheduler::cancel() {
  std::unique_lock lock(mutex_);
  to_open_ = next_to_open_;
  for (const auto& batch : batches_) {
    batch->claimed = batch->range.count;
    batch->put_off.clear();
    batch->is_being_completed = true;
  }
  if (busy_ > 0) shared_.interrupt();
  claims_done_.wait(lock, [&] { return busy_ == 0; });
  drop_batches();
}

void Scheduler::start(EpochTask task) {
  cancel();
  if (shared_.streams != nullptr) shared_.streams->start();
  if (shared_.upcoming != nullptr) shared_.upcoming->start(task.order, task.slice);
  {
    std::lock_guard lock(mutex_);
    task_ = std::move(task);
    next_to_open_ = 0;
    to_open_ = task_.slice.batches();
    out_of_memory_ = false;
  }
  work_there_.notify_all();
}

std::uint64_t Scheduler::ready_batches() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(
      std::ranges::count_if(batches_, [](const auto& batch) { return batch->is_ready(); }));
}

WorkerStats Scheduler::worker_stats() const {
  WorkerStats sum;
  for (const WorkerCounters& worker : counters_) sum += worker.read();
  return sum;
}

void Scheduler::work(unsigned number) {
  is_worker = true;
  WorkerCounters& counters = counters_[number];
  SampleWorker worker(plan_, scratch_, counters, shared_);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    auto claim = claim_samples();
    if (!claim) {
      const Clock::time_point since = Clock::now();
      const bool queue_is_full = next_to_open_ < to_open_;
      ++idle_;
      work_there_.wait(lock);
      --idle_;
      const auto waited = std::chrono::nanoseconds(Clock::now() - since).count();
      if (queue_is_full)
        counters.stages[static_cast<std::size_t>(Stage::kCollate)].wait_nanoseconds.add(
            static_cast<std::uint64_t>(waited));
      continue;
    }
    ++busy_;
    lock.unlock();
    const Clock::time_point since = Clock::now();
    make_samples(*claim, worker);
    const double seconds = seconds_between(since, Clock::now());
    lock.lock();
    finish_claim(*claim, seconds);
    --busy_;
    if (busy_ == 0) claims_done_.notify_all();
  }
}

// The earliest samples that nobody works on; opens a batch where all open ones are claimed. Batches
// behind the next one to leave stand still while there is no room for what varies.
std::optional<Scheduler::Claim> Scheduler::claim_samples() {
  for (const auto& batch : batches_) {
    if (batch != batches_.front() && room_->is_short()) return std::nullopt;
    if (auto claim = claim_of(batch)) return claim;
  }
  if (!batches_.empty() && room_->is_short()) return std::nullopt;
  if (!open_batch()) return std::nullopt;
  return claim_of(batches_.back());
}

std::optional<Scheduler::Claim> Scheduler::claim_of(const std::shared_ptr<OpenBatch>& batch) {
  if (batch->is_made() && !batch->is_complete && !batch->is_being_completed) {
    batch->is_being_completed = true;
    return Claim{batch};
  }
  if (!batch->put_off.empty() && batch == batches_.front()) {
    const std::uint64_t index = batch->put_off.back();
    batch->put_off.pop_back();
    return Claim{batch, index, 1};
  }
  if (batch->claimed >= batch->range.count) return std::nullopt;
  // Cheap samples by the handful, but never so many that another thread would stand idle while
  // this batch is the next to leave.
  const std::uint64_t left = batch->range.count - batch->claimed;
  const double by_time = sample_seconds_ > 0 ? kClaimSeconds / sample_seconds_ : 1;
  const std::uint64_t most = std::max<std::uint64_t>(1, left / (2 * threads_));
  const auto count = static_cast<std::uint64_t>(std::clamp(by_time, 1.0, static_cast<double>(most)));
  Claim claim{batch, batch->claimed, count};
  batch->claimed += count;
  return claim;
}

bool Scheduler::open_batch() {
  if (next_to_open_ >= to_open_ || batches_.size() >= prefetch_) return false;
  MemoryBlock block = pool_->try_take(batches_.empty());
  if (block.size() == 0) {
    // With a batch on its way, memory will come back. Without, nothing would ever wake us again.
    if (batches_.empty()) {
      out_of_memory_ = true;
      batch_ready_.notify_one();
    }
    return false;
  }
  out_of_memory_ = false;
  auto batch = std::make_shared<OpenBatch>();
  batch->task = &task_;
  batch->range = task_.slice.batch(next_to_open_++);
  batch->contents->block = std::move(block);
  batch->contents->prepare(layout_, batch->range.count);
  batch->is_complete = !layout_.has_padding();
  if (batches_.empty()) room_->promote(batch->contents->room);
  batches_.push_back(std::move(batch));
  if (idle_ > 0) work_there_.notify_all();
  return true;
}

void Scheduler::make_samples(Claim& claim, SampleWorker& worker) {
  OpenBatch& batch = *claim.batch;
  if (claim.count == 0) return complete(batch);
  for (std::uint64_t index = claim.first; index < claim.first + claim.count; ++index) {
    auto made = make_one(batch, index, worker);
    if (made && !*made) claim.put_off.push_back(index);
    if (made) continue;
    std::lock_guard lock(batch.trouble);
    if (worker.is_batch_too_large()) {
      batch.too_large = std::move(made).error();
      batch.failed = true;
      continue;
    }
    batch.errors.push_back(std::move(made).error());
    if (policy_.on_error == OnError::kSkip) {
      batch.left_out.resize(batch.range.count);
      batch.left_out[index] = true;
    } else {
      batch.failed = true;
    }
  }
}

// False: it is too early for this sample.
Result<bool> Scheduler::make_one(OpenBatch& batch, std::uint64_t index, SampleWorker& worker) {
  const EpochTask& task = *batch.task;
  const std::uint64_t position = batch.range.first + index;
  const BatchTarget target{layout_, *batch.contents, *room_};
  const auto make = [&](std::uint64_t sample) {
    return worker.fill(task.epoch, position, sample, target, index);
  };
  auto made = make(task.order->sample_at(position));
  if (made || policy_.on_error != OnError::kReplace || worker.is_batch_too_large()) return made;
  Draws draws(mix64(policy_.seed ^ 0x57A2D12), task.epoch, position);
  for (int attempt = 0; attempt < kStandInTries; ++attempt) {
    // From the same order, so that a sampler or weights hold for stand-ins too.
    const auto stand_in = make(task.order->sample_at(draws.below(task.order->size())));
    if (!stand_in && worker.is_batch_too_large()) return stand_in;
    if (!stand_in) continue;
    if (!*stand_in) return false;
    std::lock_guard lock(batch.trouble);
    batch.errors.push_back(std::move(made).error());
    ++batch.replaced;
    return true;
  }
  return made;
}

// All samples are there: pads them. Left for later where there is no room yet.
void Scheduler::complete(OpenBatch& batch) {
  std::unique_lock trouble(batch.trouble);
  const std::vector<bool> left_out = batch.left_out;
  const bool failed = batch.failed;
  trouble.unlock();
  auto answer = VariableRoom::Answer::kYes;
  if (!failed) answer = pad_parts(layout_, *batch.contents, *room_, left_out, policy_.pad_value);
  if (answer == VariableRoom::Answer::kNever) {
    trouble.lock();
    batch.failed = true;
    batch.too_large = Error{ErrorCode::kNoMemory,
                            room_->describe_too_large("a padded batch"),
                            {plan_.source->uri(), -1, -1, -1},
                            false};
  }
  const std::lock_guard lock(mutex_);
  batch.is_complete = answer != VariableRoom::Answer::kLater;
}

void Scheduler::finish_claim(const Claim& claim, double seconds) {
  OpenBatch& batch = *claim.batch;
  if (claim.count > 0) {
    const double each = seconds / static_cast<double>(claim.count);
    sample_seconds_ = sample_seconds_ > 0 ? 0.9 * sample_seconds_ + 0.1 * each : each;
    batch.done += claim.count - claim.put_off.size();
    batch.put_off.insert(batch.put_off.end(), claim.put_off.begin(), claim.put_off.end());
  } else if (!batch.is_complete) {
    batch.is_being_completed = false;
  }
  const bool is_next = !batches_.empty() && claim.batch == batches_.front();
  if (batch.is_ready() && is_next) batch_ready_.notify_one();
}

// One owner for all of the batch's memory, which goes back piece by piece when it is gone.
void Scheduler::lend(OpenBatch& batch, FinishedBatch& out) {
  struct Lent {
    std::shared_ptr<void> block, variable;  // given back last
    std::shared_ptr<BatchContents> contents;
  };
  auto lent = std::make_shared<Lent>();
  lent->block = pool_->lend(std::move(batch.contents->block));
  if (layout_.has_variable()) lent->variable = room_->lend(batch.contents->room);
  lent->contents = batch.contents;
  out.block = static_cast<std::byte*>(lent->block.get());
  out.contents = batch.contents.get();
  out.memory = std::move(lent);
}

Scheduler::Wait Scheduler::next(FinishedBatch& out, std::chrono::milliseconds patience) {
  std::shared_ptr<OpenBatch> batch;
  {
    std::unique_lock lock(mutex_);
    const auto something = [&] {
      return batches_.empty() ? next_to_open_ >= to_open_ || out_of_memory_ : batches_.front()->is_ready();
    };
    if (!batch_ready_.wait_for(lock, patience, something)) return Wait::kPending;
    if (batches_.empty() && next_to_open_ >= to_open_) return Wait::kEnd;
    if (batches_.empty()) {
      out_of_memory_ = false;
      out.planned = task_.slice.batch(next_to_open_).count;
      out.failed = true;
      out.errors.push_back({ErrorCode::kNoMemory, "the system has no memory left for a batch", {}, false});
      return Wait::kBatch;
    }
    batch = std::move(batches_.front());
    batches_.pop_front();
    // Lent before a worker can look for memory: in a budget of one batch, the next one fits only
    // when this one has left the ledger.
    out.variable_bytes = batch->contents->room.bytes;
    lend(*batch, out);
    if (!batches_.empty()) room_->promote(batches_.front()->contents->room);
    if (idle_ > 0) work_there_.notify_all();
  }
  out.planned = batch->range.count;
  out.kept = out.planned;
  out.padded = batch->range.padded;
  out.replaced = batch->replaced;
  out.errors = std::move(batch->errors);
  std::ranges::sort(out.errors, {}, [](const Error& error) { return error.where.sample; });
  // A batch that does not fit is to blame before any sample of it.
  if (batch->too_large) out.errors.insert(out.errors.begin(), std::move(*batch->too_large));
  out.failed = batch->failed;
  if (!batch->left_out.empty()) {
    batch->left_out.resize(out.planned);
    out.kept = compact(layout_, *out.contents, out.block, batch->left_out);
  }
  return Wait::kBatch;
}

bool Scheduler::is_own_thread() { return is_worker; }

}  // namespace penstock
