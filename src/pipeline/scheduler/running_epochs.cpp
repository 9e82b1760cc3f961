#include "pipeline/scheduler/running_epochs.h"

#include <algorithm>

namespace penstock {

Status RunningEpochs::start(const RunPtr& run) {
  auto reads = reads_.take(reads_under_way());
  if (!reads) return std::unexpected(std::move(reads).error());
  run->reads = std::move(*reads);
  run->reads->start(run->task.order, run->task.slice);
  runs_.push_back(run);
  return {};
}

void RunningEpochs::drop(RunningEpoch& run, OpenBatch& batch) {
  run.reads->close_batch(batch.range);
  pool_.put_back(std::move(batch.contents->block));
  variable_memory_.drop(batch.contents->variable);
}

// Releases the memory of all batches of the epoch that no worker is at work on.
void RunningEpochs::drop_idle_batches(RunningEpoch& run) {
  std::erase_if(run.batches, [&](const auto& batch) PENSTOCK_REQUIRES(SchedulerMutex::held) {
    if (batch->workers > 0) return false;
    drop(run, *batch);
    return true;
  });
}

// Releases the memory of the epoch's last batch, which is made again later, when there is memory.
void RunningEpochs::drop_last(RunningEpoch& run) {
  drop(run, *run.batches.back());
  run.batches.pop_back();
  --run.next_to_open;
}

std::vector<EpochReads*> RunningEpochs::reads_under_way() const {
  std::vector<EpochReads*> reads;
  for (const RunPtr& run : runs_)
    if (run->reads && !run->is_cancelled) reads.push_back(run->reads.get());
  return reads;
}

std::unique_ptr<EpochReads> RunningEpochs::retire(RunningEpoch& run) {
  drop_idle_batches(run);
  std::unique_ptr<EpochReads> reads = std::move(run.reads);
  std::erase_if(runs_, [&](const RunPtr& other) { return other.get() == &run; });
  if (reads) reads = reads_.put_back(std::move(reads), reads_under_way());
  return reads;
}

std::unique_ptr<EpochReads> RunningEpochs::cancel(RunningEpoch& run) {
  std::unique_ptr<EpochReads> ended;
  run.cancel();
  if (run.workers > 0 && run.reads) run.reads->interrupt();
  drop_idle_batches(run);
  if (run.workers == 0) ended = retire(run);
  run.batch_ready.notify_all();
  return ended;
}

std::vector<RunningEpochs::RunPtr> RunningEpochs::stop() {
  is_stopping_ = true;
  for (const RunPtr& run : runs_) {
    run->cancel();
    if (run->reads) run->reads->interrupt();
    run->batch_ready.notify_all();
  }
  return runs_;
}

std::vector<std::unique_ptr<EpochReads>> RunningEpochs::retire_all() {
  std::vector<std::unique_ptr<EpochReads>> ended;
  while (!runs_.empty()) {
    const RunPtr run = runs_.back();
    ended.push_back(retire(*run));
  }
  return ended;
}

std::size_t RunningEpochs::under_way() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      runs_, [](const RunPtr& run) PENSTOCK_REQUIRES(SchedulerMutex::held) { return !run->is_cancelled; }));
}

std::vector<RunningEpochs::RunPtr> RunningEpochs::in_order_of_need() const {
  std::vector<RunPtr> runs;
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run)
    if (!(*run)->is_cancelled) runs.push_back(*run);
  const auto need = [](const RunPtr& run) PENSTOCK_REQUIRES(SchedulerMutex::held) {
    return std::pair{run->is_waited_for() ? run->asked_at : UINT64_MAX, run->batches.size()};
  };
  std::ranges::stable_sort(runs, {}, need);
  return runs;
}

bool RunningEpochs::is_queue_full() const {
  return std::ranges::any_of(runs_, [](const RunPtr& run) PENSTOCK_REQUIRES(SchedulerMutex::held) {
    return !run->is_cancelled && run->next_to_open < run->to_open;
  });
}

std::uint64_t RunningEpochs::ready_batches() const {
  const auto is_ready = [](const auto& batch) PENSTOCK_REQUIRES(SchedulerMutex::held) { return batch->is_ready(); };
  std::uint64_t ready = 0;
  for (const RunPtr& run : runs_) ready += static_cast<std::uint64_t>(std::ranges::count_if(run->batches, is_ready));
  return ready;
}

bool RunningEpochs::open_batch(RunningEpoch& run, std::uint64_t prefetch) {
  if (run.next_to_open >= run.to_open || run.batches.size() >= std::min(prefetch, run.reads->prefetch)) return false;
  const bool is_first = run.batches.empty();
  MemoryBlock block = pool_.try_take(is_first);
  if (block.size() == 0 && take_batch_for(run)) block = pool_.try_take(is_first);
  if (block.size() == 0) {
    // An open batch, of this epoch or another, will release memory and wake the workers. Without one, nothing would, so
    // the epoch gets an error.
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
  if (is_first) variable_memory_.promote(batch->contents->variable);
  run.reads->open_batch(batch->range, *batch->contents);
  run.batches.push_back(std::move(batch));
  wake_idle_workers();
  return true;
}

// Takes the last batch of the epoch that has the most, if it has at least two more than this one. The other epoch then
// has no reason to take it back.
bool RunningEpochs::take_batch_for(const RunningEpoch& run) {
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

bool RunningEpochs::make_variable_memory_for(const RunningEpoch& run) {
  if (!variable_memory_.is_short_for_next() || !others_hold_memory(run)) return true;
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

bool RunningEpochs::others_hold_memory(const RunningEpoch& run) const {
  return std::ranges::any_of(runs_, [&](const RunPtr& other) PENSTOCK_REQUIRES(SchedulerMutex::held) {
    return other.get() != &run && !other->batches.empty();
  });
}

void RunningEpochs::wait_for_work() {
  ++idle_;
  work_there_.wait(mutex);
  --idle_;
}

void RunningEpochs::wake_idle_workers() {
  if (idle_ > 0) work_there_.notify_all();
}

}  // namespace penstock
