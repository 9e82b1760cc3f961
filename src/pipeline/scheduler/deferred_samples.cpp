#include "pipeline/scheduler/deferred_samples.h"

namespace penstock {

DeferredSample DeferredSamples::defer(const Claim& claim, std::uint64_t index,
                                      const std::optional<Replacement>& replacement, std::size_t bytes) {
  AreaMemory memory(area_, bytes);
  if (!memory) return {};
  {
    const MutexLock lock(epochs_.mutex);
    ++claim.run->workers;
    ++claim.batch->workers;
    ++under_way_;
  }
  return {std::move(memory), bytes, claim.run->revoked.get_token(),
          [this, run = claim.run, batch = claim.batch, is_stand_in = replacement.has_value(),
           sample = replacement.value_or(Replacement{index, {}, 0})](Status status) {
            complete(run, *batch, sample, is_stand_in, std::move(status));
          }};
}

void DeferredSamples::complete(const RunPtr& run, OpenBatch& batch, Replacement sample, bool is_stand_in,
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
  std::unique_ptr<EpochReads> ended;  // destroyed without the lock
  {
    const MutexLock lock(epochs_.mutex);
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
    if (run->is_left()) ended = epochs_.retire(*run);
  }
  ended.reset();
  // This must be the last use of this object: once the mutex is free, wait_until_none() returns.
  const MutexLock lock(epochs_.mutex);
  --under_way_;
  epochs_.wake_workers();
  all_done_.notify_all();
}

void DeferredSamples::wait_until_none() {
  const MutexLock lock(epochs_.mutex);
  while (under_way_ > 0) all_done_.wait(epochs_.mutex);
}

}  // namespace penstock
