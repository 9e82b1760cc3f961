#include "pipeline/scheduler/claim_queue.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr double kClaimSeconds = 50e-6;  // a claim of this length takes far longer than the claiming

}  // namespace

std::optional<Claim> ClaimQueue::claim(unsigned worker) {
  if (worker >= knobs_.threads) return std::nullopt;
  auto claim = claim_samples();
  if (claim) {
    ++claim->run->workers;
    ++claim->batch->workers;
  }
  return claim;
}

std::optional<Claim> ClaimQueue::claim_samples() {
  const std::vector<RunPtr>& runs = epochs_.all();
  if (runs.size() == 1) return runs.front()->is_cancelled ? std::nullopt : claim_from(runs.front());
  for (const RunPtr& run : epochs_.in_order_of_need()) {
    if (auto claim = claim_from(run)) return claim;
    // If a consumer waits for this epoch and other epochs hold the memory that it needs, those do not continue.
    if (run->is_waited_for() && run->is_refused) return std::nullopt;
  }
  return std::nullopt;
}

// Claims the earliest samples that no worker makes. If all samples of open batches are claimed, opens another batch.
// While memory for fields of variable size is short, only the batch that is delivered next continues.
std::optional<Claim> ClaimQueue::claim_from(const RunPtr& run) {
  for (const auto& batch : run->batches) {
    if (batch != run->batches.front() && variable_memory_.is_short()) return std::nullopt;
    if (auto claim = claim_of(run, batch)) return claim;
  }
  if (!run->batches.empty() && variable_memory_.is_short()) return std::nullopt;
  if (!epochs_.open_batch(*run, knobs_.prefetch)) return std::nullopt;
  return claim_of(run, run->batches.back());
}

std::optional<Claim> ClaimQueue::claim_of(const RunPtr& run, const std::shared_ptr<OpenBatch>& batch) {
  const bool is_next = batch == run->batches.front();
  const bool is_to_complete = batch->is_made() && !batch->is_complete && !batch->is_being_completed;
  if (is_next && run->is_refused && (is_to_complete || !batch->put_off.empty()) &&
      !epochs_.make_variable_memory_for(*run))
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
  // Cheap samples are claimed several at a time, but never so many that another thread would be idle while this batch
  // is the next to be delivered.
  const std::uint64_t left = batch->range.count - batch->claimed;
  const double by_time = sample_seconds_ > 0 ? kClaimSeconds / sample_seconds_ : 1;
  const std::uint64_t most = std::max<std::uint64_t>(1, left / (2 * knobs_.threads));
  const auto count = static_cast<std::uint64_t>(std::clamp(by_time, 1.0, static_cast<double>(most)));
  Claim claim{run, batch, batch->claimed, count};
  batch->claimed += count;
  return claim;
}

void ClaimQueue::finish(const Claim& claim, double seconds) {
  OpenBatch& batch = *claim.batch;
  RunningEpoch& run = *claim.run;
  --run.workers;
  --batch.workers;
  bool was_refused = false;
  if (claim.count > 0) {
    const double each = seconds / static_cast<double>(claim.count);
    sample_seconds_ = sample_seconds_ > 0 ? 0.9 * sample_seconds_ + 0.1 * each : each;
    batch.done += claim.count - claim.put_off.size() - claim.deferred;
    batch.put_off.insert(batch.put_off.end(), claim.put_off.begin(), claim.put_off.end());
    was_refused = !claim.put_off.empty();
  } else {
    batch.is_complete = claim.is_completed;
    if (!batch.is_complete) {
      batch.is_being_completed = false;
      was_refused = true;
    }
  }
  const bool is_next = !run.batches.empty() && claim.batch == run.batches.front();
  if (!is_next) return;
  if (was_refused) run.is_refused = true;
  if (batch.is_ready()) {
    run.is_refused = false;
    run.batch_ready.notify_all();
  }
}

}  // namespace penstock
