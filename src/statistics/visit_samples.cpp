#include "statistics/visit_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/guarded.h"
#include "base/machine.h"
#include "penstock/interruption.h"
#include "plan/field_plan.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "statistics/source_reads.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxVisitRun = 64;  // consecutive samples that a thread takes at a time
constexpr std::uint64_t kRunsForEach = 32;
constexpr auto kProgressEvery = std::chrono::milliseconds(100);

// One plan for all fields that every sample has, because reading them together is cheapest, and one plan per field
// alone. The latter are for fields that may be missing, and to find out which field of a sample is bad.
struct Plans {
  std::vector<std::size_t> fields;  // numbers of the fields in the source
  SamplePlan together;
  std::vector<std::size_t> in_together;  // indexes into `fields`
  std::vector<SamplePlan> alone;         // in the order of `fields`
};

Result<SamplePlan> plan_for(const SourcePtr& source, std::vector<std::string> names) {
  LoaderOptions options;
  options.fields = std::move(names);
  options.layout = BatchLayout::kNhwc;
  auto plan = plan_fields(source, options);
  if (plan)
    plan->opened_at_ns =
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  return plan;
}

Result<Plans> make_plans(const SourcePtr& source, const VisitOptions& options) {
  Plans plans;
  std::vector<std::string> everywhere;
  const auto& known = source->fields();
  if (!options.fields.empty()) {
    const auto checked = plan_for(source, options.fields);  // only for its error if a name is wrong
    if (!checked) return std::unexpected(checked.error());
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (!options.fields.empty() && std::ranges::find(options.fields, known[i].name) == options.fields.end())
      continue;
    auto plan = plan_for(source, {known[i].name});
    if (!plan) return std::unexpected(std::move(plan).error());
    plans.alone.push_back(std::move(*plan));
    if (known[i].is_everywhere) {
      everywhere.push_back(known[i].name);
      plans.in_together.push_back(plans.fields.size());
    }
    plans.fields.push_back(i);
  }
  if (plans.in_together.size() < 2) {
    plans.in_together.clear();
    return plans;
  }
  auto together = plan_for(source, std::move(everywhere));
  if (!together) return std::unexpected(std::move(together).error());
  plans.together = std::move(*together);
  return plans;
}

// The work of one thread.
class Visitor {
 public:
  Visitor(const Source& source, const Plans& plans, ScratchBudget& budget, const SharedReads& shared,
          LookAtField look)
      : source_(source),
        plans_(plans),
        budget_(budget),
        shared_(shared),
        look_(std::move(look)),
        alone_(plans.fields.size()),
        shown_(plans.fields.size()) {
    if (!plans.in_together.empty()) together_.emplace(plans.together, budget, counters_, shared);
  }

  void visit(std::uint64_t sample) {
    if (const auto& error = block_error(sample)) {
      bad_.push_back({*error, ""});
      bad_.back().error.where.sample = static_cast<std::int64_t>(sample);
      ++bad_samples_;
      return;
    }
    shown_.assign(shown_.size(), false);
    const std::size_t before = bad_.size();
    Status all;
    if (together_)
      all = together_->look_at(
          sample, [this](const SeenField& seen) { show(plans_.in_together[seen.field], seen); });
    for (std::size_t field = 0; field < plans_.fields.size(); ++field)
      if (!shown_[field]) visit_alone(sample, field, before);
    // All fields are good alone but not together, for example a mask that has another size than its image.
    if (!all && bad_.size() == before) bad_.push_back({std::move(all).error(), ""});
    bad_samples_ += bad_.size() > before;
  }

  std::vector<BadValue>& bad() { return bad_; }
  std::uint64_t bad_samples() const { return bad_samples_; }
  std::uint64_t bytes_read() const {
    return counters_.stages[static_cast<std::size_t>(Stage::kRead)].bytes.get();
  }

 private:
  // A block that cannot be decompressed is tried only once, because each try begins the shard again.
  const std::optional<Error>& block_error(std::uint64_t sample) {
    if (!shared_.streams) return block_error_;
    for (const std::size_t field : plans_.fields) {
      const auto extent = source_.extent(sample, field);
      if (!extent || extent->block < 0) continue;
      if (extent->block != block_) {
        block_ = extent->block;
        const auto block = shared_.streams->get(static_cast<std::size_t>(block_));
        block_error_ = block ? std::nullopt : std::optional(block.error());
      }
      break;  // all fields of a sample are in one block
    }
    return block_error_;
  }

  void show(std::size_t field, SeenField seen) {
    shown_[field] = true;
    seen.field = plans_.fields[field];
    look_(seen);
  }

  void visit_alone(std::uint64_t sample, std::size_t field, std::size_t first_of_sample) {
    auto& worker = alone_[field];
    if (!worker) worker = std::make_unique<SampleWorker>(plans_.alone[field], budget_, counters_, shared_);
    auto status = worker->look_at(sample, [&](const SeenField& seen) { show(field, seen); });
    if (status || is_missing(sample, field, status.error())) return;
    const Error& error = status.error();
    for (std::size_t i = first_of_sample; i < bad_.size(); ++i)
      if (is_same(bad_[i].error, error)) {  // every field of a record fails if its checksum does
        bad_[i].field.clear();
        return;
      }
    bad_.push_back({error, source_.fields()[plans_.fields[field]].name});
  }

  bool is_missing(std::uint64_t sample, std::size_t field, const Error& error) const {
    if (error.code != ErrorCode::kNotFound || source_.fields()[plans_.fields[field]].is_everywhere)
      return false;
    // kNotFound also means that an object has disappeared, which is not the same as a missing field.
    const auto extent = source_.extent(sample, plans_.fields[field]);
    return !extent ? extent.error().code == ErrorCode::kNotFound
                   : extent->store->stat(extent->object).has_value();
  }

  static bool is_same(const Error& a, const Error& b) {
    return a.message == b.message && a.where.uri == b.where.uri && a.where.offset == b.where.offset &&
           a.where.length == b.where.length;
  }

  const Source& source_;
  const Plans& plans_;
  ScratchBudget& budget_;
  const SharedReads shared_;
  LookAtField look_;
  WorkerCounters counters_;
  std::optional<SampleWorker> together_;
  std::vector<std::unique_ptr<SampleWorker>> alone_;  // made when first needed
  std::vector<bool> shown_;                           // by field: whether this sample's value was shown
  std::vector<BadValue> bad_;
  std::uint64_t bad_samples_ = 0;
  std::int64_t block_ = -1;  // the last block that was asked for
  std::optional<Error> block_error_;
};

// Returns the first sample of each run of consecutive samples, and the end. If samples share storage units, a run is a
// unit, so that different threads decode different units.
std::vector<std::uint64_t> runs_of(const Source& source, unsigned threads) {
  if (source.storage().shares_units)
    if (const auto units = source.storage().units) return units->first_sample;
  const std::uint64_t length =
      std::clamp<std::uint64_t>(source.size() / (threads * kRunsForEach), 1, kMaxVisitRun);
  std::vector<std::uint64_t> begins;
  for (std::uint64_t sample = 0; sample < source.size(); sample += length) begins.push_back(sample);
  begins.push_back(source.size());
  return begins;
}

// A pool of threads that take runs in order until none is left.
class Pool {
 public:
  // `on_stop` cancels the reads that the threads wait for.
  Pool(std::vector<std::unique_ptr<Visitor>>& visitors, std::vector<std::uint64_t> runs,
       std::function<void()> on_stop)
      : visitors_(visitors),
        runs_(std::move(runs)),
        on_stop_(std::move(on_stop)),
        running_(visitors.size()) {}

  // Returns false if it was stopped.
  bool run(const VisitOptions& options) {
    std::vector<std::jthread> threads;
    for (const auto& visitor : visitors_)
      threads.emplace_back([this, &visitor] {
        const Interruption::Scope scope(&stop_reading_);
        work(*visitor);
      });
    while (!finishes_within(kProgressEvery)) {
      const bool stops = Interruption::is_requested() ||
                         (options.progress && !options.progress(done_.load(std::memory_order_relaxed)));
      if (stops && !stop_.exchange(true)) {
        stop_reading_.request();
        on_stop_();
      }
    }
    return !stop_;
  }

 private:
  // Waits for the threads, and returns whether all of them have finished.
  bool finishes_within(std::chrono::milliseconds patience) PENSTOCK_EXCLUDES(mutex_) {
    const auto deadline = ConditionVariable::Clock::now() + patience;
    const MutexLock lock(mutex_);
    while (running_ > 0 && finished_.wait_until(mutex_, deadline)) {
    }
    return running_ == 0;
  }

  void work(Visitor& visitor) PENSTOCK_EXCLUDES(mutex_) {
    for (std::size_t run = next_++; run + 1 < runs_.size() && !stop_; run = next_++)
      for (std::uint64_t sample = runs_[run]; sample < runs_[run + 1] && !stop_; ++sample) {
        visitor.visit(sample);
        done_.fetch_add(1, std::memory_order_relaxed);
      }
    const MutexLock lock(mutex_);
    if (--running_ == 0) finished_.notify_all();
  }

  std::vector<std::unique_ptr<Visitor>>& visitors_;
  const std::vector<std::uint64_t> runs_;
  const std::function<void()> on_stop_;
  Interruption stop_reading_;  // interrupts the threads
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  ConditionVariable finished_;
  std::size_t running_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace

Result<Visit> visit_samples(const SourcePtr& source, const VisitOptions& options, const LookForThread& look) {
  const auto plans = make_plans(source, options);
  if (!plans) return std::unexpected(plans.error());
  const Clock::time_point began = Clock::now();
  const std::uint64_t memory =
      options.memory_bytes ? options.memory_bytes : default_memory_bytes(1);
  unsigned threads = options.threads ? options.threads : usable_cpus();
  threads = static_cast<unsigned>(std::clamp<std::uint64_t>(source->size(), 1, threads));

  const auto reads = SourceReads::open(*source, {plans->fields, threads, threads * (plans->fields.size() + 1), memory});
  if (!reads) return std::unexpected(reads.error());

  std::vector<std::unique_ptr<Visitor>> visitors;
  for (unsigned i = 0; i < threads; ++i)
    visitors.push_back(std::make_unique<Visitor>(*source, *plans, (*reads)->budget(), (*reads)->shared(), look()));
  const auto break_off = [&] { (*reads)->interrupt(); };
  if (!Pool(visitors, runs_of(*source, threads), break_off).run(options))
    return fail(ErrorCode::kStopped, "stopped before all samples were read", {source->uri(), -1, -1, -1});

  Visit visit;
  visit.samples = source->size();
  visit.threads = threads;
  for (const auto& visitor : visitors) {
    visit.bad_samples += visitor->bad_samples();
    visit.bytes += visitor->bytes_read();
    std::ranges::move(visitor->bad(), std::back_inserter(visit.bad));
  }
  // In a compressed shard all fields of a record come from one block, and each worker counts the block again, so the
  // stored size is reported instead.
  if (source->storage().is_forward_only()) visit.bytes = source->storage().stored_bytes;
  std::ranges::stable_sort(visit.bad, {}, [](const BadValue& bad) { return bad.error.where.sample; });
  visit.chunks = (*reads)->chunk_stats();
  visit.seconds = seconds_between(began, Clock::now());
  return visit;
}

}  // namespace penstock
