#include "pipeline/loader_books.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

constexpr std::size_t kErrorsListed = 100;

ChunkStats operator+(const ChunkStats& a, const ChunkStats& b) {
  return {a.decoded + b.decoded,
          a.reused + b.reused,
          a.missing + b.missing,
          a.decoded_bytes + b.decoded_bytes,
          a.distinct + b.distinct,
          a.distinct_bytes + b.distinct_bytes,
          std::max(a.memory_for_one_decode, b.memory_for_one_decode)};
}

}  // namespace

void LoaderBooks::adopt(const Engine& engine) {
  ledger_ = engine.ledger;
  prefetch_ = engine.budget.prefetch;
  threads_ = engine.threads;
  tuning_ = engine.tuning;
  cache_form_ = !engine.cache                                        ? ""
                : engine.cache->form() == CacheForm::kDecoded ? "decoded"
                                                              : "encoded";
}

void LoaderBooks::retire(const Engine& engine) {
  workers_before_ += engine.scheduler.worker_stats();
  chunks_before_ = chunks_before_ + engine.chunk_stats();
  if (engine.cache) tiers_before_ = engine.cache->tiers();
}

void LoaderBooks::tune(const Scheduler::Knobs& now) {
  threads_ = now.threads;
  prefetch_ = now.prefetch;
}

void LoaderBooks::add_wait(EpochRecord& record, double seconds) {
  record.deliver.wait_seconds += seconds;
  deliver_.wait_seconds += seconds;
}

Status LoaderBooks::count(EpochRecord& record, const FinishedBatch& batch, const SkipLimit& limit) {
  Counts change;
  change.planned = batch.planned;
  Status status;
  for (const Error& error : batch.errors)
    if (errors_.size() < kErrorsListed) {
      errors_.push_back(error);
      errors_.back().cause.reset();  // a Python traceback would keep all variables of the user's function alive
    }
  if (batch.failed) {
    change.failed = batch.planned;
    status = std::unexpected(batch.errors.front());
  } else {
    change.skipped = batch.planned - batch.kept;
    change.replaced = batch.replaced;
    const Counts& before = record.stats.counts;
    const std::uint64_t bad = before.skipped + before.replaced + change.skipped + change.replaced;
    if (static_cast<double>(bad) > limit.samples) {
      change.failed = batch.kept;
      status = std::unexpected(
          Error{ErrorCode::kTooManySkipped,
                fmt::format("{} bad samples in this epoch are more than max_skip={} allows; the last: {}", bad,
                            limit.max_skip, batch.errors.front().describe()),
                batch.errors.front().where, false, batch.errors.front().cause});
    } else {
      change.delivered = batch.kept;
      change.padded = batch.padded ? batch.kept : 0;
      change.batches = 1;
    }
  }
  for (Counts* counts : {&record.stats.counts, &totals_}) {
    counts->planned += change.planned;
    counts->delivered += change.delivered;
    counts->skipped += change.skipped;
    counts->failed += change.failed;
    counts->padded += change.padded;
    counts->replaced += change.replaced;
    counts->batches += change.batches;
  }
  return status;
}

void LoaderBooks::add_delivered(EpochRecord& record, Clock::time_point since, std::uint64_t bytes) {
  ++record.delivered;
  if (record.stats.counts.batches == 1) record.stats.first_batch_seconds = seconds_between(record.began, since);
  if (totals_.batches == 1) first_batch_seconds_ = seconds_between(constructed_, since);
  // The epoch is complete when its last batch was handed over, so that a state taken now points at the next epoch.
  if (record.delivered == record.task.slice.batches()) record.stats.seconds = seconds_between(record.began, since);
  const double seconds = seconds_between(since, Clock::now());
  for (StageStats* stage : {&record.deliver, &deliver_}) {
    ++stage->items;
    stage->bytes += bytes;
    stage->seconds += seconds;
  }
}

void LoaderBooks::end(const EpochRecord& record) { finished_.push_back(finished(record)); }

LoaderBooks::FinishedEpoch LoaderBooks::finished(const EpochRecord& record) {
  FinishedEpoch epoch{record.number, record.stats, record.run->spent};
  epoch.stats.stages[static_cast<std::size_t>(Stage::kDeliver)] = record.deliver;
  if (epoch.stats.seconds == 0) epoch.stats.seconds = seconds_between(record.began, Clock::now());
  return epoch;
}

EpochStats LoaderBooks::FinishedEpoch::all() const {
  const WorkerStats workers = spent->sum();
  EpochStats sum = stats;
  for (std::size_t i = 0; i < kStages; ++i)
    if (i != static_cast<std::size_t>(Stage::kDeliver)) sum.stages[i] = workers.stages[i];
  sum.cache = workers.cache;
  return sum;
}

LoaderStats LoaderBooks::stats(const Engine* engine, const std::vector<std::shared_ptr<EpochRecord>>& running) const {
  LoaderStats stats;
  stats.counts = totals_;
  WorkerStats workers = workers_before_;
  stats.chunks = chunks_before_;
  stats.cache_tiers = tiers_before_;
  if (engine != nullptr) {
    workers += engine->scheduler.worker_stats();
    stats.chunks = chunks_before_ + engine->chunk_stats();
    if (engine->cache) stats.cache_tiers = engine->cache->tiers();
    stats.queue_ready = engine->scheduler.ready_batches();
    stats.queue_bytes = stats.queue_ready * engine->layout.batch_bytes();
  }
  stats.stages = workers.stages;
  stats.stages[static_cast<std::size_t>(Stage::kDeliver)] = deliver_;
  stats.cache = workers.cache;
  stats.first_batch_seconds = first_batch_seconds_;
  std::vector<FinishedEpoch> epochs = finished_;
  for (const auto& record : running) epochs.push_back(finished(*record));
  std::ranges::sort(epochs, {}, &FinishedEpoch::number);
  for (const FinishedEpoch& epoch : epochs) stats.epochs.push_back(epoch.all());
  // There is one number for each tier, also where nothing was counted yet.
  stats.cache.tiers.resize(stats.cache_tiers.size());
  for (EpochStats& epoch : stats.epochs) epoch.cache.tiers.resize(stats.cache_tiers.size());
  stats.errors = errors_;
  stats.queue_capacity = prefetch_;
  stats.memory_budget = ledger_->budget();
  stats.memory_peak = ledger_->peak();
  stats.memory_lent = ledger_->lent();
  stats.cache_form = cache_form_;
  stats.threads = threads_;
  stats.tuning = tuning_;
  return stats;
}

}  // namespace penstock
