// The loader: checks the options, divides the budget, joins the stages, counts.
#include "penstock/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine.h"
#include "pipeline/budget.h"
#include "pipeline/field_plan.h"
#include "pipeline/order_plan.h"
#include "pipeline/sample_shape.h"
#include "pipeline/scheduler.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kLargestBatch = 1 << 24;
constexpr std::uint64_t kMostOpenObjects = 64;  // by each worker
constexpr std::uint64_t kLargestWindow = 1 << 24;
constexpr std::uint64_t kLongestRun = std::uint64_t{1} << 40;
constexpr std::size_t kErrorsListed = 100;
constexpr std::uint64_t kBatchesBesideChunks = 5;  // two with the user, three under way
constexpr double kShareOfWaiting = 0.05;           // a consumer that waits less than this is the slow one

std::unexpected<Error> bad_option(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status check_options(const LoaderOptions& options) {
  if (options.batch_size == 0) return bad_option("batch_size must be at least 1");
  if (options.batch_size > kLargestBatch)
    return bad_option(fmt::format("batch_size {}: at most {}", options.batch_size, kLargestBatch));
  if (options.world_size == 0 || options.rank >= options.world_size)
    return bad_option(fmt::format("rank {} of world_size {}", options.rank, options.world_size));
  if (options.threads > 1024) return bad_option(fmt::format("threads={}: at most 1024", options.threads));
  if (options.shuffle_window > kLargestWindow)
    return bad_option(fmt::format("shuffle_window={}: at most {}", options.shuffle_window, kLargestWindow));
  if (!(options.max_skip >= 0 && options.max_skip <= 1))
    return bad_option(fmt::format("max_skip={}: a share from 0 to 1", options.max_skip));
  return {};
}

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double batch_mib(const LayoutField& field, const LoaderOptions& options) {
  return static_cast<double>(field.field.spec.bytes()) * static_cast<double>(options.batch_size) / kMiB;
}

// Samples of which some share a storage unit: a window of the order.
std::uint64_t samples_together(const OrderSpec& order) {
  if (order.draws) return order.window_units * order.draws->per_visit();
  if (order.units && order.units->first_sample.size() > 1)
    return order.window_units * (order.samples / (order.units->first_sample.size() - 1) + 1);
  return order.window_units * order.unit_samples;
}

// For chunks and what is read ahead. Where samples share chunks: all but a few batches and some scratch.
// Where they do not, few chunks are in use at a time. In any case one batch fits beside it.
std::uint64_t bytes_to_share(const SamplePlan& plan, const BudgetRequest& request) {
  const Source& source = *plan.source;
  const std::uint64_t memory = request.budget_bytes, third = memory / 3;
  std::uint64_t wanted = third, chunk = 0;
  for (const auto& array : source.chunked_arrays())
    if (array->chunks() > 0) chunk = std::max(chunk, array->chunk_bytes(0));
  if (chunk > 0 && source.shares_units()) {
    const std::uint64_t others =
        kBatchesBesideChunks * (request.batch_bytes + request.variable_bytes) + memory / 8;
    wanted = std::max(third, memory - std::min(memory, others));
  } else if (chunk > 0 && source.store().reads_ahead() == 0) {
    wanted = std::min(third, std::max(memory / 8, 2 * request.threads * chunk));
  }
  const std::uint64_t least = least_budget(request) + request.shared_bytes;
  return std::min(wanted, memory - std::min(memory, least));
}

// A chunk that neither the shelf nor a worker's scratch can hold would fail every sample.
Status check_chunks_fit(const SamplePlan& plan, const UpcomingPlan& upcoming, const BudgetPlan& budget,
                        std::uint64_t memory) {
  const std::uint64_t most = std::max(upcoming.shelf_bytes, budget.scratch_pot_bytes);
  for (const auto& array : plan.source->chunked_arrays())
    if (const std::uint64_t bytes = array->chunks() > 0 ? array->chunk_bytes(0) : 0; bytes > most)
      return fail(
          ErrorCode::kNoMemory,
          fmt::format("memory budget of {:.0f} MiB is too small: one chunk takes {:.0f} MiB when it is "
                      "decoded; give memory= at least {:.0f} MiB",
                      static_cast<double>(memory) / kMiB, static_cast<double>(bytes) / kMiB,
                      std::ceil(3.2 * static_cast<double>(bytes) / kMiB)),
          {array->uri(), -1, -1, -1});
  return {};
}

class PipelineLoader final : public Loader {
 public:
  PipelineLoader(SamplePlan plan, const LoaderOptions& options, OrderSpec order, SlotLayout layout,
                 std::shared_ptr<Ledger> ledger, std::unique_ptr<StreamBlocks> streams,
                 std::unique_ptr<Upcoming> upcoming, const BudgetPlan& budget, unsigned threads,
                 std::string tuning)
      : plan_(std::move(plan)),
        options_(options),
        order_(std::move(order)),
        layout_(std::move(layout)),
        budget_(budget),
        threads_(threads),
        tuning_(std::move(tuning)),
        ledger_(std::move(ledger)),
        pool_(std::make_shared<BatchPool>(ledger_, layout_.batch_bytes(), budget.batch_area_bytes)),
        room_(std::make_shared<VariableRoom>(ledger_, budget.variable_area_bytes)),
        streams_(std::move(streams)),
        upcoming_(std::move(upcoming)) {
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
    if (upcoming_) stats.chunks = upcoming_->stats();
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
  }

 private:
  void start_workers() {
    scheduler_ =
        std::make_unique<Scheduler>(Scheduler::Setup{plan_,
                                                     layout_,
                                                     pool_,
                                                     room_,
                                                     ledger_,
                                                     {streams_.get(), upcoming_.get()},
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
      if (errors_.size() < kErrorsListed) errors_.push_back(error);
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
          batch.errors.front().where, false});
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

  std::array<StageStats, kStages> all_stages() const {
    std::array<StageStats, kStages> stages = at_close_;
    if (scheduler_) stages += scheduler_->worker_stats();
    stages[static_cast<std::size_t>(Stage::kDeliver)] = deliver_;
    return stages;
  }

  EpochStats running_epoch() const {
    EpochStats epoch = current_;
    if (scheduler_) epoch.stages = scheduler_->worker_stats() - at_epoch_start_;
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

  // Who is waited for: the slowest stage where the consumer waits, else the consumer itself.
  std::string bottleneck(const LoaderStats& stats) const {
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

  const SamplePlan plan_;
  const LoaderOptions options_;
  OrderSpec order_;
  const SlotLayout layout_;
  const BudgetPlan budget_;
  const unsigned threads_;
  const std::string tuning_;
  const std::shared_ptr<Ledger> ledger_;
  const std::shared_ptr<BatchPool> pool_;
  const std::shared_ptr<VariableRoom> room_;
  const std::unique_ptr<StreamBlocks> streams_;
  const std::unique_ptr<Upcoming> upcoming_;

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
  std::array<StageStats, kStages> at_epoch_start_{}, at_close_{};

  std::unique_ptr<Scheduler> scheduler_;  // last: its threads use what stands above
};

}  // namespace

Result<std::unique_ptr<Loader>> Loader::open(SourcePtr source, const LoaderOptions& options) {
  PENSTOCK_CHECK(check_options(options));
  auto order = plan_order(*source, options);
  if (!order) return std::unexpected(std::move(order).error());
  auto plan = plan_fields(source, options);
  if (!plan) return std::unexpected(std::move(plan).error());
  plan->opened_at_ns = wall_clock_ns();

  const std::uint32_t local = std::max(1u, options.local_ranks);
  const std::uint64_t memory =
      options.memory_bytes ? options.memory_bytes : std::max(free_memory_bytes() / 4 / local, 64 * kMiB);
  auto ledger = std::make_shared<Ledger>(memory);
  const unsigned threads = options.threads ? options.threads : std::max(1u, usable_cpus() / local);
  // Shards stay open, but half of what the process may have open is left to others.
  plan->most_open_objects = std::clamp<std::uint64_t>(open_file_limit() / 2 / threads, 1, kMostOpenObjects);
  std::unique_ptr<StreamBlocks> streams;
  StreamPlan stream_plan{.prefetch = options.prefetch};
  if (source->is_forward_only()) {
    const auto planned =
        plan_streams(*source, {order->shuffle == Shuffle::kWindow ? order->window_units : 0,
                               options.batch_size * options.world_size, options.prefetch, memory / 2});
    if (!planned) return std::unexpected(planned.error());
    stream_plan = *planned;
    streams = std::make_unique<StreamBlocks>(*source, ledger, stream_plan);
  }
  auto shape = find_shape(*plan, options, memory, {streams.get(), nullptr});
  if (!shape) return std::unexpected(std::move(shape).error());
  for (const LayoutField& field : shape->fields)  // before any size is multiplied out: it might wrap around
    if (field.placement == Placement::kSlot && field.field.spec.bytes() > memory / options.batch_size)
      return fail(ErrorCode::kNoMemory,
                  fmt::format("memory budget of {:.1f} MiB is too small: one batch of {} samples takes "
                              "{:.1f} MiB; give memory= at "
                              "least {:.0f} MiB, or a smaller batch_size",
                              static_cast<double>(memory) / kMiB, options.batch_size,
                              batch_mib(field, options), std::ceil(batch_mib(field, options)) + threads + 1));
  PENSTOCK_CHECK(add_lengths(shape->fields, options, *plan));
  SlotLayout layout(std::move(shape->fields), options.batch_size);

  const std::uint64_t variable = shape->variable_bytes * options.batch_size;
  BudgetRequest request{memory,  layout.batch_bytes(), variable, stream_plan.bytes(),
                        threads, stream_plan.prefetch};
  const auto upcoming_plan =
      plan_upcoming(*source, {2 * samples_together(*order), bytes_to_share(*plan, request)});
  if (upcoming_plan) request.shared_bytes += upcoming_plan->bytes();
  const auto budget = divide_budget(request);
  if (!budget) return std::unexpected(budget.error());
  std::unique_ptr<Upcoming> upcoming;
  if (upcoming_plan) {
    PENSTOCK_CHECK(check_chunks_fit(*plan, *upcoming_plan, *budget, memory));
    upcoming = std::make_unique<Upcoming>(*source, stored_fields(*plan), ledger, *upcoming_plan);
  }
  std::string tuning = fmt::format(
      "{} threads ({}), {} batches of {:.1f} MiB ahead ({}), memory {:.0f} MiB ({})", threads,
      options.threads ? "given" : fmt::format("{} usable cores / {} local ranks", usable_cpus(), local),
      budget->prefetch, static_cast<double>(layout.batch_bytes() + variable) / kMiB,
      options.prefetch == budget->prefetch ? "given" : "by memory", static_cast<double>(memory) / kMiB,
      options.memory_bytes ? "given" : "a quarter of what is free");
  return std::make_unique<PipelineLoader>(std::move(*plan), options, std::move(*order), std::move(layout),
                                          std::move(ledger), std::move(streams), std::move(upcoming), *budget,
                                          threads, std::move(tuning));
}

bool Loader::is_worker_thread() { return Scheduler::is_own_thread(); }

Result<std::optional<Batch>> Loader::next() {
  Batch batch;
  while (true) {
    const auto got = next(batch, std::chrono::milliseconds(1000));
    if (!got) return std::unexpected(got.error());
    if (*got == Next::kEnd) return std::nullopt;
    if (*got == Next::kBatch) return batch;
  }
}

}  // namespace penstock
