#include "pipeline/pipeline_loader.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/order_plan.h"
#include "pipeline/scheduler.h"

namespace penstock {
namespace {

constexpr std::uint64_t kLongestRun = std::uint64_t{1} << 40;
constexpr std::size_t kErrorsListed = 100;
constexpr double kShareOfWaiting = 0.05;  // a consumer that waits less than this is the slow one

std::unexpected<Error> bad_option(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

// Who is waited for: the slowest stage where the consumer waits, else the consumer itself.
std::string bottleneck(const LoaderStats& stats) {
  double running = 0, waited = 0;
  for (const EpochStats& epoch : stats.epochs) {
    running += epoch.seconds;
    waited += epoch.stages[static_cast<std::size_t>(Stage::kDeliver)].wait_seconds;
  }
  if (stats.counts.batches == 0 || running <= 0) return "unknown";
  if (waited / running < kShareOfWaiting) return "training step";
  std::size_t slowest = 0;
  for (std::size_t i = 0; i < kStages - 1; ++i)
    if (stats.stages[i].seconds > stats.stages[slowest].seconds) slowest = i;
  return std::string(name_of(static_cast<Stage>(slowest)));
}

class PipelineLoader final : public Loader {
 public:
  explicit PipelineLoader(LoaderParts parts)
      : plan_(std::move(parts.plan)),
        options_(std::move(parts.options)),
        order_(std::move(parts.order)),
        layout_(std::move(parts.layout)),
        budget_(parts.budget),
        threads_(parts.threads),
        tuning_(std::move(parts.tuning)),
        ledger_(std::move(parts.ledger)),
        pool_(std::make_shared<BatchPool>(ledger_, layout_.batch_bytes(), budget_.batch_area_bytes)),
        room_(std::make_shared<VariableRoom>(ledger_, budget_.variable_area_bytes)),
        cache_(std::move(parts.cache)),
        charge_(std::move(parts.charge)),
        streams_(std::move(parts.streams)),
        upcoming_(std::move(parts.upcoming)) {
    if (cache_) cache_form_ = cache_->form() == CacheForm::kDecoded ? "decoded" : "encoded";
    options_.cache.reset();  // the workers' is the one that counts
    start_workers();
  }

  Status start_epoch() override {
    if (!scheduler_) return bad_option("the loader is closed");
    close_epoch();
    epoch_ = next_epoch_;
    start_position_ = next_position_;
    next_epoch_ = epoch_ + 1;
    next_position_ = 0;
    failed_ = moved_ = false;
    std::shared_ptr<const EpochOrder> order = make_epoch_order(order_, epoch_);
    slice_ = slice_from(start_position_, order->size());
    delivered_batches_ = 0;
    current_ = EpochStats{};
    current_.epoch = epoch_;
    at_epoch_start_ = scheduler_->worker_stats();
    epoch_began_ = Clock::now();
    in_epoch_ = true;
    if (cache_) cache_->start_epoch(slice_.samples());
    scheduler_->start({epoch_, std::move(order), slice_});
    return {};
  }

  Result<Next> next(Batch& out, std::chrono::milliseconds patience) override {
    if (!in_epoch_) return Next::kEnd;
    const Clock::time_point since = Clock::now();
    FinishedBatch batch;
    const Scheduler::Wait got = scheduler_->next(batch, patience);
    deliver_.wait_seconds += seconds_between(since, Clock::now());
    if (got == Scheduler::Wait::kPending) return Next::kPending;
    if (got == Scheduler::Wait::kEnd) {
      close_epoch();
      return Next::kEnd;
    }
    if (auto status = count(batch); !status) {
      batch.memory.reset();
      scheduler_->cancel();
      close_epoch();
      // A state taken now leads back to the batch that failed.
      failed_ = true;
      return std::unexpected(std::move(status).error());
    }
    ++delivered_batches_;
    if (delivered_batches_ == slice_.batches()) {
      // The epoch is over when its last batch is handed over, so that a state taken now leads on.
      current_.seconds = seconds_between(epoch_began_, Clock::now());
    }
    hand_over(batch, out);
    return Next::kBatch;
  }

  std::uint64_t batches_per_epoch() const override { return slice_from(0, epoch_positions()).batches(); }

  void set_epoch(std::uint64_t epoch) override {
    moved_ = true;
    next_epoch_ = epoch;
    next_position_ = 0;
  }

  Status set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices) override {
    OrderSpec changed = order_;
    changed.indices = std::move(indices);
    PENSTOCK_CHECK(check_order(changed));
    order_ = std::move(changed);
    return {};
  }

  LoaderState state() const override {
    LoaderState state{plan_.source->fingerprint(),
                      order_fingerprint(order_),
                      list_fingerprint(order_),
                      options_.seed,
                      next_epoch_,
                      next_position_,
                      epoch_positions(),
                      order_.bucket_run};
    if (!moved_ && (failed_ || (in_epoch_ && delivered_batches_ < slice_.batches()))) {
      state.epoch = epoch_;
      state.position = slice_.position_after(delivered_batches_);
    }
    return state;
  }

  Status load_state(const LoaderState& state) override {
    if (state.fingerprint != plan_.source->fingerprint())
      return bad_option("the state belongs to other data (keys or sizes differ)");
    if (state.seed != options_.seed)
      return bad_option(fmt::format("the state has seed {}, the loader {}", state.seed, options_.seed));
    if (state.order != order_fingerprint(order_))
      return bad_option(
          "the state belongs to another order (shuffle, sampler, weights or epoch_size differ)");
    if (state.position > 0 && state.list != list_fingerprint(order_))
      return bad_option("the state belongs to another list of the sampler's");
    if (state.position > epoch_positions()) return bad_option("the state is past the end of the epoch");
    if ((state.bucket_run == 0) != (order_.bucket_run == 0) || state.bucket_run > kLongestRun)
      return bad_option("the state belongs to another order (bucket_by differs)");
    // The order stays what it was, also where batches or ranks are others now.
    order_.bucket_run = state.bucket_run;
    if (scheduler_) scheduler_->cancel();
    close_epoch();
    failed_ = moved_ = false;
    next_epoch_ = state.position == epoch_positions() && state.position > 0 ? state.epoch + 1 : state.epoch;
    next_position_ = state.position == epoch_positions() ? 0 : state.position;
    return {};
  }

  LoaderStats stats() const override {
    LoaderStats stats;
    stats.counts = totals_;
    stats.stages = all_stages();
    stats.first_batch_seconds = first_batch_seconds_;
    stats.epochs = finished_;
    if (in_epoch_) stats.epochs.push_back(running_epoch());
    stats.errors = errors_;
    stats.queue_capacity = budget_.prefetch;
    stats.queue_ready = scheduler_ ? scheduler_->ready_batches() : 0;
    stats.queue_bytes = stats.queue_ready * layout_.batch_bytes();
    stats.memory_budget = ledger_->budget();
    stats.memory_peak = ledger_->peak();
    stats.memory_lent = ledger_->lent();
    stats.chunks = upcoming_ ? upcoming_->stats() : chunks_at_close_;
    stats.cache = all_workers().cache;
    stats.cache_tiers = cache_ ? cache_->tiers() : tiers_at_close_;
    stats.cache_form = cache_form_;
    stats.shuffle = describe_shuffle(order_, options_.batch_size * options_.world_size);
    stats.threads = threads_;
    stats.tuning = tuning_;
    stats.bottleneck = bottleneck(stats);
    return stats;
  }

  std::vector<BatchField> sample_fields() const override {
    std::vector<BatchField> fields;
    for (std::size_t i = 0; i < layout_.size(); ++i) fields.push_back(layout_.field(i));
    return fields;
  }
  const Source& source() const override { return *plan_.source; }

  void close() override {
    close_epoch();
    if (!scheduler_) return;
    at_close_ += scheduler_->worker_stats();
    scheduler_.reset();
    if (upcoming_) chunks_at_close_ = upcoming_->stats();
    upcoming_.reset();
    if (cache_) tiers_at_close_ = cache_->tiers();
    cache_.reset();  // its memory goes back to the node, unless others use it
    charge_.reset();
  }

 private:
  void start_workers() {
    scheduler_ =
        std::make_unique<Scheduler>(Scheduler::Setup{plan_,
                                                     layout_,
                                                     pool_,
                                                     room_,
                                                     ledger_,
                                                     {streams_.get(), upcoming_.get(), cache_.get()},
                                                     budget_.scratch_share_bytes,
                                                     budget_.scratch_pot_bytes,
                                                     threads_,
                                                     budget_.prefetch,
                                                     {options_.on_error, options_.seed, options_.pad_value}});
  }

  std::uint64_t epoch_positions() const {
    if (order_.indices && order_.indices->empty()) return 0;
    return order_.epoch_size ? order_.epoch_size : order_.indices ? order_.indices->size() : order_.samples;
  }

  RankSlice slice_from(std::uint64_t position, std::uint64_t size) const {
    return {size, position, options_.batch_size, options_.rank, options_.world_size, options_.drop_last};
  }

  // Books a finished batch; an error where the policy says so.
  Status count(FinishedBatch& batch) {
    Counts& counts = current_.counts;
    counts.planned += batch.planned;
    totals_.planned += batch.planned;
    for (const Error& error : batch.errors)
      if (errors_.size() < kErrorsListed) {
        errors_.push_back(error);
        errors_.back().cause.reset();  // a traceback keeps all variables of the user's function alive
      }
    if (batch.failed) {
      counts.failed += batch.planned;
      totals_.failed += batch.planned;
      return std::unexpected(batch.errors.front());
    }
    const std::uint64_t skipped = batch.planned - batch.kept, padded = batch.padded ? batch.kept : 0;
    counts.skipped += skipped;
    totals_.skipped += skipped;
    counts.replaced += batch.replaced;
    totals_.replaced += batch.replaced;
    const double allowed =
        std::max(1.0, options_.max_skip * static_cast<double>(epoch_positions()) / options_.world_size);
    if (static_cast<double>(counts.skipped + counts.replaced) > allowed) {
      counts.failed += batch.kept;
      totals_.failed += batch.kept;
      return std::unexpected(Error{
          ErrorCode::kTooManySkipped,
          fmt::format("{} bad samples in this epoch are more than max_skip={} allows; the last: {}",
                      counts.skipped + counts.replaced, options_.max_skip, batch.errors.front().describe()),
          batch.errors.front().where, false, batch.errors.front().cause});
    }
    counts.delivered += batch.kept;
    totals_.delivered += batch.kept;
    counts.padded += padded;
    totals_.padded += padded;
    ++counts.batches;
    ++totals_.batches;
    return {};
  }

  void hand_over(FinishedBatch& batch, Batch& out) {
    const Clock::time_point now = Clock::now();
    if (current_.counts.batches == 1) current_.first_batch_seconds = seconds_between(epoch_began_, now);
    if (totals_.batches == 1) first_batch_seconds_ = seconds_between(constructed_, now);
    ++deliver_.items;
    deliver_.bytes += batch.kept * layout_.sample_bytes() + batch.variable_bytes;
    out.size = batch.kept;
    out.fields.resize(layout_.size());
    for (std::size_t i = 0; i < layout_.size(); ++i) out.fields[i] = field_of(batch, i);
    out.memory = std::move(batch.memory);
    deliver_.seconds += seconds_between(now, Clock::now());
  }

  BatchField field_of(FinishedBatch& batch, std::size_t i) const {
    BatchField field = layout_.field(i);
    switch (layout_.placement(i)) {
      case Placement::kSlot: field.data = layout_.slot(batch.block, i, 0).data(); break;
      case Placement::kText:
        field.texts = std::move(batch.contents->texts[i]);
        field.spec.shape.clear();
        break;
      case Placement::kPart:
        for (Part& part : batch.contents->parts[i]) field.items.push_back({part.spec, part.data.get()});
        field.spec.shape.clear();
        break;
      case Placement::kPad:
        field.data = batch.contents->padded[i].data();
        field.spec.shape = batch.contents->padded_shapes[i];
        break;
    }
    field.spec.shape.insert(field.spec.shape.begin(), static_cast<std::int64_t>(batch.kept));
    return field;
  }

  WorkerStats all_workers() const {
    WorkerStats stats = at_close_;
    if (scheduler_) stats += scheduler_->worker_stats();
    return stats;
  }

  std::array<StageStats, kStages> all_stages() const {
    std::array<StageStats, kStages> stages = all_workers().stages;
    stages[static_cast<std::size_t>(Stage::kDeliver)] = deliver_;
    return stages;
  }

  EpochStats running_epoch() const {
    EpochStats epoch = current_;
    if (scheduler_) {
      const WorkerStats spent = scheduler_->worker_stats() - at_epoch_start_;
      epoch.stages = spent.stages;
      epoch.cache = spent.cache;
    }
    StageStats deliver = deliver_;
    deliver.seconds -= deliver_at_start_.seconds;
    deliver.items -= deliver_at_start_.items;
    deliver.bytes -= deliver_at_start_.bytes;
    deliver.wait_seconds -= deliver_at_start_.wait_seconds;
    epoch.stages[static_cast<std::size_t>(Stage::kDeliver)] = deliver;
    if (epoch.seconds == 0) epoch.seconds = seconds_between(epoch_began_, Clock::now());
    return epoch;
  }

  void close_epoch() {
    if (!in_epoch_) return;
    finished_.push_back(running_epoch());
    deliver_at_start_ = deliver_;
    in_epoch_ = false;
  }

  const SamplePlan plan_;
  LoaderOptions options_;
  std::string cache_form_;
  OrderSpec order_;
  const SlotLayout layout_;
  const BudgetPlan budget_;
  const unsigned threads_;
  const std::string tuning_;
  const std::shared_ptr<Ledger> ledger_;
  const std::shared_ptr<BatchPool> pool_;
  const std::shared_ptr<VariableRoom> room_;
  std::unique_ptr<SampleCache> cache_;
  std::shared_ptr<const void> charge_;
  const std::unique_ptr<StreamBlocks> streams_;
  std::unique_ptr<Upcoming> upcoming_;

  std::uint64_t next_epoch_ = 0, next_position_ = 0;  // where start_epoch() begins
  std::uint64_t epoch_ = 0, start_position_ = 0, delivered_batches_ = 0;
  RankSlice slice_;
  bool in_epoch_ = false;
  bool failed_ = false;  // the last epoch ended with an error
  bool moved_ = false;   // set_epoch() was called since the last epoch began

  const Clock::time_point constructed_ = Clock::now();
  Clock::time_point epoch_began_{};
  double first_batch_seconds_ = 0;
  Counts totals_;
  EpochStats current_;
  std::vector<EpochStats> finished_;
  std::vector<Error> errors_;
  StageStats deliver_, deliver_at_start_;
  WorkerStats at_epoch_start_, at_close_;
  ChunkStats chunks_at_close_;
  std::vector<TierState> tiers_at_close_;

  std::unique_ptr<Scheduler> scheduler_;  // last: its threads use what stands above
};

}  // namespace

std::unique_ptr<Loader> make_pipeline_loader(LoaderParts parts) {
  return std::make_unique<PipelineLoader>(std::move(parts));
}

}  // namespace penstock
