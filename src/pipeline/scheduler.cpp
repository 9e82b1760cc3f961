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
  MemoryBlock block;
  std::vector<std::vector<std::string>> texts;
  std::uint64_t claimed = 0, done = 0;  // guarded by the scheduler's mutex

  std::mutex trouble;  // errors are rare: a mutex of their own
  std::vector<bool> left_out;
  std::vector<Error> errors;
  std::uint64_t replaced = 0;
  bool failed = false;

  bool is_ready() const { return done == range.count; }
};

Scheduler::Scheduler(const Setup& setup)
    : plan_(setup.plan),
      layout_(setup.layout),
      pool_(setup.pool),
      ledger_(setup.ledger),
      prefetch_(setup.prefetch),
      policy_(setup.policy),
      threads_(setup.threads),
      scratch_(*ledger_, setup.scratch_share_bytes, setup.scratch_pot_bytes),
      counters_(setup.threads) {
  pool_->on_return([this] { wake_workers(); });
  for (unsigned t = 0; t < threads_; ++t) pool_threads_.emplace_back([this, t] { work(t); });
}

Scheduler::~Scheduler() {
  pool_->on_return({});
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_there_.notify_all();
  pool_threads_.clear();
  for (const auto& batch : batches_) pool_->put_back(std::move(batch->block));
}

void Scheduler::wake_workers() {
  // Taking the mutex makes sure that no worker is between looking and going to sleep.
  { std::lock_guard lock(mutex_); }
  work_there_.notify_all();
}

void Scheduler::cancel() {
  std::unique_lock lock(mutex_);
  to_open_ = next_to_open_;
  for (const auto& batch : batches_) batch->claimed = batch->range.count;
  claims_done_.wait(lock, [&] { return busy_ == 0; });
  for (const auto& batch : batches_) pool_->put_back(std::move(batch->block));
  batches_.clear();
}

void Scheduler::start(EpochTask task) {
  cancel();
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

std::array<StageStats, kStages> Scheduler::worker_stats() const {
  std::array<StageStats, kStages> sum{};
  for (const WorkerCounters& worker : counters_) {
    std::array<StageStats, kStages> one{};
    for (std::size_t i = 0; i < kStages; ++i) one[i] = worker.stages[i].read();
    sum += one;
  }
  return sum;
}

void Scheduler::work(unsigned number) {
  is_worker = true;
  WorkerCounters& counters = counters_[number];
  SampleWorker worker(plan_, scratch_, counters);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto claim = claim_samples();
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

// The earliest samples that nobody works on; opens a batch where all open ones are claimed.
std::optional<Scheduler::Claim> Scheduler::claim_samples() {
  auto found =
      std::ranges::find_if(batches_, [](const auto& batch) { return batch->claimed < batch->range.count; });
  if (found == batches_.end()) {
    if (!open_batch()) return std::nullopt;
    found = batches_.end() - 1;
  }
  OpenBatch& batch = **found;
  // Cheap samples by the handful, but never so many that another thread would stand idle while
  // this batch is the next to leave.
  const std::uint64_t left = batch.range.count - batch.claimed;
  const double by_time = sample_seconds_ > 0 ? kClaimSeconds / sample_seconds_ : 1;
  const std::uint64_t most = std::max<std::uint64_t>(1, left / (2 * threads_));
  const auto count = static_cast<std::uint64_t>(std::clamp(by_time, 1.0, static_cast<double>(most)));
  Claim claim{*found, batch.claimed, count};
  batch.claimed += count;
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
  batch->block = std::move(block);
  batch->texts.resize(layout_.fields().size());
  for (std::size_t field = 0; field < layout_.fields().size(); ++field)
    if (layout_.is_text(field)) batch->texts[field].resize(batch->range.count);
  batches_.push_back(std::move(batch));
  if (idle_ > 0) work_there_.notify_all();
  return true;
}

void Scheduler::make_samples(const Claim& claim, SampleWorker& worker) {
  OpenBatch& batch = *claim.batch;
  for (std::uint64_t index = claim.first; index < claim.first + claim.count; ++index) {
    Status made = make_one(batch, index, worker);
    if (made) continue;
    std::lock_guard lock(batch.trouble);
    batch.errors.push_back(std::move(made).error());
    if (policy_.on_error == OnError::kSkip) {
      batch.left_out.resize(batch.range.count);
      batch.left_out[index] = true;
    } else {
      batch.failed = true;
    }
  }
}

Status Scheduler::make_one(OpenBatch& batch, std::uint64_t index, SampleWorker& worker) {
  const EpochTask& task = *batch.task;
  const std::uint64_t position = batch.range.first + index;
  const auto make = [&](std::uint64_t sample) {
    return worker.fill(task.epoch, position, sample, layout_, batch.block.data(), batch.texts, index);
  };
  Status made = make(task.order->sample_at(position));
  if (made || policy_.on_error != OnError::kReplace) return made;
  Draws draws(mix64(policy_.seed ^ 0x57A2D12), task.epoch, position);
  for (int attempt = 0; attempt < kStandInTries; ++attempt) {
    // From the same order, so that a sampler or weights hold for stand-ins too.
    if (!make(task.order->sample_at(draws.below(task.order->size())))) continue;
    std::lock_guard lock(batch.trouble);
    batch.errors.push_back(std::move(made).error());
    ++batch.replaced;
    return {};
  }
  return made;
}

void Scheduler::finish_claim(const Claim& claim, double seconds) {
  const double each = seconds / static_cast<double>(claim.count);
  sample_seconds_ = sample_seconds_ > 0 ? 0.9 * sample_seconds_ + 0.1 * each : each;
  claim.batch->done += claim.count;
  if (claim.batch->is_ready() && !batches_.empty() && claim.batch == batches_.front())
    batch_ready_.notify_one();
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
    out.memory = pool_->lend(std::move(batch->block));
    if (idle_ > 0) work_there_.notify_all();
  }
  out.planned = batch->range.count;
  out.kept = out.planned;
  out.padded = batch->range.padded;
  out.replaced = batch->replaced;
  out.errors = std::move(batch->errors);
  std::ranges::sort(out.errors, {}, [](const Error& error) { return error.where.sample; });
  out.failed = batch->failed;
  out.texts = std::move(batch->texts);
  if (!batch->left_out.empty()) {
    batch->left_out.resize(out.planned);
    out.kept = layout_.compact(static_cast<std::byte*>(out.memory.get()), out.texts, batch->left_out);
  }
  return Wait::kBatch;
}

bool Scheduler::is_own_thread() { return is_worker; }

}  // namespace penstock
