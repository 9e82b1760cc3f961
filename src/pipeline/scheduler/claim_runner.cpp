#include "pipeline/scheduler/claim_runner.h"

#include <utility>

#include "base/random.h"

namespace penstock {
namespace {

constexpr int kMaxStandIns = 8;  // stand-ins that are tried for one sample

class ClaimDeferral final : public Deferral {
 public:
  ClaimDeferral(const ClaimRunner::Defer& defer, const Claim& claim, std::uint64_t index,
                const std::optional<Replacement>& replacement)
      : defer_(defer),
        claim_(claim),
        index_(index),
        replacement_(replacement) {}

  DeferredSample defer(std::size_t bytes) override { return defer_(claim_, index_, replacement_, bytes); }

 private:
  const ClaimRunner::Defer& defer_;
  const Claim& claim_;
  const std::uint64_t index_;
  const std::optional<Replacement>& replacement_;
};

}  // namespace

void ClaimRunner::run(Claim& claim, SampleMaker& maker) const {
  if (claim.count == 0) claim.is_completed = complete(*claim.batch);
  for (std::uint64_t index = claim.first; index < claim.first + claim.count; ++index) {
    auto made = claim.replacement ? make_stand_in(claim, *claim.replacement, maker) : make_one(claim, index, maker);
    if (made && *made == Outcome::kTooEarly) claim.put_off.push_back(index);
    if (made && *made == Outcome::kDeferred) ++claim.deferred;
    if (made) continue;
    OpenBatch& batch = *claim.batch;
    if (maker.is_batch_too_large()) {
      const MutexLock lock(batch.trouble_mutex);
      batch.trouble.too_large = std::move(made).error();
      batch.trouble.failed = true;
      continue;
    }
    note_failure(batch, index, std::move(made).error());
  }
}

bool ClaimRunner::complete(OpenBatch& batch) const {
  std::vector<bool> left_out;
  {
    const MutexLock lock(batch.trouble_mutex);
    if (batch.trouble.failed) return true;
    left_out = batch.trouble.left_out;
  }
  const auto answer = pad_parts(layout_, *batch.contents, variable_, left_out, policy_.pad_value);
  if (answer == VariableMemory::Answer::kNever) {
    const MutexLock lock(batch.trouble_mutex);
    batch.trouble.failed = true;
    batch.trouble.too_large = Error{ErrorCode::kNoMemory,
                                    variable_.describe_too_large("a padded batch"),
                                    {plan_.source->uri(), -1, -1, -1},
                                    false};
  }
  return answer != VariableMemory::Answer::kLater;
}

void ClaimRunner::note_failure(OpenBatch& batch, std::uint64_t index, Error error) const {
  const MutexLock lock(batch.trouble_mutex);
  batch.trouble.errors.push_back(std::move(error));
  if (policy_.on_error == OnError::kSkip && batch.trouble.errors.back().code != ErrorCode::kStopped) {
    batch.trouble.left_out.resize(batch.range.count);
    batch.trouble.left_out[index] = true;
  } else {
    batch.trouble.failed = true;
  }
}

void ClaimRunner::note_replaced(OpenBatch& batch, Error error) {
  const MutexLock lock(batch.trouble_mutex);
  batch.trouble.errors.push_back(std::move(error));
  ++batch.trouble.replaced;
}

bool ClaimRunner::is_replaced(const Error& error, int attempts) const {
  return policy_.on_error == OnError::kReplace && error.code != ErrorCode::kStopped && attempts < kMaxStandIns;
}

Result<ClaimRunner::Outcome> ClaimRunner::make(const Claim& claim, std::uint64_t index, std::uint64_t sample,
                                               const std::optional<Replacement>& replacement,
                                               SampleMaker& maker) const {
  const SampleTask task{claim.run->task.epoch, claim.batch->range.first + index, sample};
  const BatchTarget target{layout_, *claim.batch->contents, variable_};
  ClaimDeferral deferral(defer_, claim, index, replacement);
  return maker.make(task, target, index, deferral);
}

Result<ClaimRunner::Outcome> ClaimRunner::make_one(const Claim& claim, std::uint64_t index,
                                                   SampleMaker& maker) const {
  const std::uint64_t position = claim.batch->range.first + index;
  auto made = make(claim, index, claim.run->task.order->sample_at(position), std::nullopt, maker);
  if (made || maker.is_batch_too_large() || !is_replaced(made.error(), 0)) return made;
  return make_stand_in(claim, {index, std::move(made).error(), 0}, maker);
}

// Stand-ins are drawn from the order of the epoch, so that a sampler or weights apply to them too.
Result<ClaimRunner::Outcome> ClaimRunner::make_stand_in(const Claim& claim, Replacement replacement,
                                                        SampleMaker& maker) const {
  const EpochTask& task = claim.run->task;
  Draws draws(mix64(policy_.seed ^ 0x57A2D12), task.epoch, claim.batch->range.first + replacement.index);
  for (int attempt = 0; attempt < replacement.attempts; ++attempt) (void)draws.below(task.order->size());
  while (replacement.attempts < kMaxStandIns) {
    const std::uint64_t sample = task.order->sample_at(draws.below(task.order->size()));
    ++replacement.attempts;
    auto made = make(claim, replacement.index, sample, replacement, maker);
    if (!made && (maker.is_batch_too_large() || made.error().code == ErrorCode::kStopped)) return made;
    if (!made) continue;
    if (*made == Outcome::kMade) note_replaced(*claim.batch, std::move(replacement.error));
    return made;
  }
  return std::unexpected(std::move(replacement.error));
}

}  // namespace penstock
