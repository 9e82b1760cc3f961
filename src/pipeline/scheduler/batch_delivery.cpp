#include "pipeline/scheduler/batch_delivery.h"

#include <algorithm>

namespace penstock {

BatchDelivery::Wait BatchDelivery::next(RunningEpoch& run, FinishedBatch& out, std::chrono::milliseconds patience) {
  std::shared_ptr<OpenBatch> batch;
  const Wait answer = take_next(run, patience, out, batch);
  if (batch) describe(*batch, out);
  return answer;
}

// Takes the next batch if it is ready. `batch` stays empty if there is none, even if the answer is kBatch: that is a
// batch that failed because it could not be opened.
BatchDelivery::Wait BatchDelivery::take_next(RunningEpoch& run, std::chrono::milliseconds patience, FinishedBatch& out,
                                             std::shared_ptr<OpenBatch>& batch) {
  std::unique_ptr<EpochReads> ended;  // destroyed without the lock
  const MutexLock lock(epochs_.mutex);
  if (!wait_for(run, patience)) return Wait::kPending;
  run.asked_at = 0;
  if (run.is_cancelled || epochs_.is_stopping()) return Wait::kCancelled;
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
  // The batch is lent before a worker can look for memory: in a budget of one batch, the next one fits only when this
  // one is no longer in the ledger.
  run.reads->close_batch(batch->range);
  lend(*batch, out);
  if (!run.batches.empty()) variable_memory_.promote(run.batches.front()->contents->variable);
  if (run.is_handed_out()) ended = epochs_.retire(run);
  epochs_.wake_idle_workers();
  return Wait::kBatch;
}

// Returns false if there is still no answer when `patience` is over.
bool BatchDelivery::wait_for(RunningEpoch& run, std::chrono::milliseconds patience) {
  if (is_answered(run)) return true;
  if (run.asked_at == 0) run.asked_at = ++questions_;
  // Workers now serve this epoch first, and memory of other epochs may be taken for it.
  if (epochs_.all().size() > 1) epochs_.wake_idle_workers();
  const Clock::time_point deadline = Clock::now() + patience;
  while (!is_answered(run) && run.batch_ready.wait_until(epochs_.mutex, deadline)) {
  }
  return is_answered(run);
}

bool BatchDelivery::is_answered(const RunningEpoch& run) const {
  if (run.is_cancelled || epochs_.is_stopping()) return true;
  return run.batches.empty() ? run.next_to_open >= run.to_open || run.is_out_of_memory
                             : run.batches.front()->is_ready();
}

// Gives all of the batch's memory one owner. When the owner is destroyed, each part returns to where it came from.
void BatchDelivery::lend(OpenBatch& batch, FinishedBatch& out) {
  struct Lent {
    std::shared_ptr<void> block, variable;  // destroyed last, because `contents` refers to them
    std::shared_ptr<BatchContents> contents;
  };
  auto lent = std::make_shared<Lent>();
  lent->block = pool_.lend(std::move(batch.contents->block));
  if (layout_.has_variable()) {
    VariableMemory::Loan loan = variable_memory_.lend(batch.contents->variable);
    lent->variable = std::move(loan.token);
    out.variable_bytes = loan.bytes;
  }
  lent->contents = batch.contents;
  out.block = static_cast<std::byte*>(lent->block.get());
  out.contents = batch.contents.get();
  out.memory = std::move(lent);
}

// Describes which samples the batch has, and what went wrong with the others.
void BatchDelivery::describe(OpenBatch& batch, FinishedBatch& out) const {
  out.planned = batch.range.count;
  out.kept = out.planned;
  out.padded = batch.range.padded;
  const MutexLock lock(batch.trouble_mutex);
  BatchTrouble& trouble = batch.trouble;
  out.replaced = trouble.replaced;
  out.errors = std::move(trouble.errors);
  // An interruption comes first: a user who stops the program must not see an error of a sample instead.
  std::ranges::sort(out.errors, {}, [](const Error& error) {
    return std::pair{error.code != ErrorCode::kStopped, error.where.sample};
  });
  // If the batch itself is too large, that error comes before those of its samples.
  if (trouble.too_large) out.errors.insert(out.errors.begin(), std::move(*trouble.too_large));
  out.failed = trouble.failed;
  if (!trouble.left_out.empty()) {
    trouble.left_out.resize(out.planned);
    out.kept = compact(layout_, *out.contents, out.block, trouble.left_out);
  }
}

}  // namespace penstock
